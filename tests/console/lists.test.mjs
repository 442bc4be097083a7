// What has happened: runs, the record, the overview.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { follow, stage } from './browser.mjs';
import { PROJECT, furnish } from './furnished.mjs';

const scene = stage({ hub: { files: PROJECT }, prepare: furnish });

function rows(page) {
  return page.locator('table[data-list=runs] tr[data-run]');
}

async function shown(page) {
  return rows(page).evaluateAll((all) => all.map((e) => ({ id: e.dataset.run, state: e.dataset.state })));
}

scene('runs are listed, newest first', async ({ hub, page }) => {
  const { items } = await hub.person.must('GET', '/runs');
  await page.goto('/console/runs');
  assert.deepEqual(await shown(page), items.map(({ id, state }) => ({ id, state })));
});

scene('a new run appears in the open list', async ({ hub, page }) => {
  await page.goto('/console/runs');
  const { meta } = await hub.agent.call('file_read', { path: 'src/greet.py' });
  await page.locator(`tr[data-run="${meta.run_id}"][data-state=succeeded]`).waitFor();
});

scene('runs are found by tool, state and who', async ({ hub, page }) => {
  for (const [query, fits] of [
    ['tool=file_read', (run) => run.tool === 'file_read'],
    ['state=denied', (run) => run.state === 'denied'],
    ['who=agent:agent', (run) => run.owner === 'agent:agent'],
    ['tool=file_read&state=failed', (run) => run.tool === 'file_read' && run.state === 'failed'],
    ['who=user:nobody', () => false],
    ['since=2100-01-01', () => false],
    ['until=2000-01-01', () => false],
    ['since=2000-01-01&until=2100-01-01', () => true],
  ]) {
    const { items } = await hub.person.must('GET', '/runs');
    await page.goto(`/console/runs?${query}`);
    const wanted = items.filter(fits).map(({ id, state }) => ({ id, state }));
    assert.deepEqual(await shown(page), wanted, query);
  }
});

scene('the filters are a form that remembers what it was asked', async ({ page }) => {
  await page.goto('/console/runs');
  await page.locator('form [name=tool]').fill('file_write');
  await page.locator('form [name=tool]').press('Enter');
  await page.waitForURL(/tool=file_write/);
  assert.equal(await page.locator('form [name=tool]').inputValue(), 'file_write');
  assert.notEqual(await rows(page).count(), 0);
});

scene('a filter that means nothing is told', async ({ page }) => {
  const answer = await page.goto('/console/runs?state=asleep');
  assert.ok([200, 400, 422].includes(answer.status()), `answered with ${answer.status()}`);
  if (answer.status() !== 200) await page.locator('[role=alert]').first().waitFor();
});

scene('the record is whole, and each entry opens with what belongs to it', async ({ hub, page, made }) => {
  await page.goto('/console/audit');
  await page.locator('[data-verified=yes]').waitFor();
  const entries = page.locator('table[data-list=audit] tr[data-seq]');
  const newest = await entries.evaluateAll((all) => all.map((e) => Number(e.dataset.seq)));
  assert.notEqual(newest.length, 0);
  assert.deepEqual(newest, newest.toSorted((a, b) => b - a), 'the newest is first');
  await page.goto(`/console/audit?about=${made.written.run}`);
  const { items } = await hub.person.must('GET', `/audit?resource_id=${made.written.run}`);
  const listed = await entries.evaluateAll((all) => all.map((e) => Number(e.dataset.seq)));
  assert.deepEqual(listed.toSorted((a, b) => a - b), items.map((entry) => entry.seq));
  await follow(page, entries.first().locator('a').first());
  assert.match(new URL(page.url()).pathname, /^\/console\/audit\/\d+$/);
  const told = await page.locator('main').innerText();
  assert.ok(told.includes(made.written.run.slice(-8)), told);
  for (const { record } of items) assert.ok(told.includes(record.event), `it shows ${record.event}`);
});

scene('the record is filtered', async ({ hub, page }) => {
  for (const [query, fits] of [
    ['event=approval.decided', (record) => record.event === 'approval.decided'],
    ['actor=agent:agent', (record) => record.actor === 'agent:agent'],
    ['since=2100-01-01', () => false],
  ]) {
    await page.goto(`/console/audit?${query}`);
    const { items } = await hub.person.must('GET', '/audit?limit=200');
    const wanted = items.filter((entry) => fits(entry.record)).map((entry) => entry.seq);
    const entries = page.locator('table[data-list=audit] tr[data-seq]');
    const listed = await entries.evaluateAll((all) => all.map((e) => Number(e.dataset.seq)));
    assert.deepEqual(listed.toSorted((a, b) => a - b), wanted, query);
  }
});

scene('the record is exported, a line for each entry', async ({ hub, page }) => {
  await page.goto('/console/audit');
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('a[data-act=export]').click()]);
  const text = fs.readFileSync(await download.path(), 'utf8');
  const lines = text.trimEnd().split('\n').map((line) => JSON.parse(line));
  const exported = await hub.person.must('GET', '/audit/export');
  assert.deepEqual(lines, exported.trimEnd().split('\n').slice(0, lines.length).map((line) => JSON.parse(line)));
  assert.match(download.suggestedFilename(), /json/);
});

scene('the overview has its numbers and charts', async ({ hub, page }) => {
  await page.goto('/console');
  for (const name of ['calls', 'latency', 'errors']) {
    const chart = page.locator(`[data-chart=${name}]`);
    assert.equal(await chart.locator('svg').or(page.locator(`svg[data-chart=${name}]`)).count() > 0, true, name);
  }
  const number = async (name) => Number((await page.locator(`[data-number=${name}]`).innerText()).replace(/\D/g, ''));
  const { items: approvals } = await hub.person.must('GET', '/approvals?state=pending');
  const { items: questions } = await hub.person.must('GET', '/questions');
  const { items: tools } = await hub.person.must('GET', '/tools?limit=200');
  assert.equal(await number('waiting'), approvals.length + questions.length);
  assert.equal(await number('tools'), tools.filter((tool) => tool.enabled).length);
  assert.equal(await page.locator('[data-number=saved]').count(), 1);
});
