// An approval on its way: it appears, is read, is given; the file changes, and comes back.

import assert from 'node:assert/strict';

import { follow, inState, item, stage } from './browser.mjs';
import { PROJECT, PAINT } from './furnished.mjs';
import { until } from './rig.mjs';

const scene = stage({ hub: { files: PROJECT } });

const EDIT = { old_string: 'red: u8,', new_string: 'red: u16,' };

/** The lines of a diff that have a sign, without what is drawn around them. */
async function lines(diff, sign) {
  const texts = await diff.locator(`tr[data-sign=${sign}]`).allInnerTexts();
  return texts.map((text) => text.trim());
}

scene('an approval appears in the open inbox, is read and given; the run ends, and is undone', async ({ hub, page }) => {
  hub.write('src/way.rs', PAINT);
  await page.goto('/console/inbox');
  const loads = [];
  page.on('framenavigated', (frame) => loads.push(frame.url()));
  const { run, approval } = await hub.agent.asks('file_edit', { path: 'src/way.rs', ...EDIT });
  const article = item(page, approval);
  await article.waitFor();
  assert.deepEqual(loads, [], 'it appeared without a reload');

  const file = article.locator('.diff section[data-file$="src/way.rs"]');
  const [removed] = await lines(file, 'removed');
  const [added] = await lines(file, 'added');
  assert.ok(removed.includes(EDIT.old_string), removed);
  assert.ok(added.includes(EDIT.new_string), added);
  assert.equal(hub.read('src/way.rs'), PAINT, 'nothing is changed yet');

  await follow(page, article.locator('button[data-act=approve]'));
  assert.equal(new URL(page.url()).pathname, '/console/inbox');
  const said = page.locator('[role=status][data-said]');
  await said.waitFor();
  assert.equal(await item(page, approval).count(), 0);
  await follow(page, said.locator(`a[href*="${run}"]`));
  await inState(page, run, 'succeeded');
  assert.equal(hub.read('src/way.rs'), PAINT.replace(EDIT.old_string, EDIT.new_string));
  await page.locator('[data-changes] .diff section[data-file$="src/way.rs"]').waitFor();

  await follow(page, page.locator('a[data-act=undo]'));
  assert.ok((await page.locator('.diff').innerText()).includes(EDIT.old_string), 'it shows what comes back');
  assert.equal(hub.read('src/way.rs'), PAINT.replace(EDIT.old_string, EDIT.new_string), 'looking undoes nothing');
  await follow(page, page.locator('button[data-act=undo-now]'));
  const undoing = new URL(page.url()).pathname.split('/').pop();
  assert.notEqual(undoing, run, 'the page of the run that undid');
  await inState(page, undoing, 'succeeded');
  assert.equal(hub.read('src/way.rs'), PAINT);
});

scene('an approval says who asks for what, and why', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('file_write', { path: 'told.txt', content: 'told\n' });
  const kept = await hub.person.approval(approval);
  await page.goto('/console/inbox');
  const article = item(page, approval);
  assert.match(await article.locator('[data-who]').first().innerText(), new RegExp(kept.requester));
  assert.match(await article.locator('[data-tool]').first().innerText(), /file_write/);
  assert.notEqual((await article.locator('[data-risk]').first().innerText()).trim(), '');
  assert.equal(await article.locator('[data-reversible]').count() > 0, true);
  assert.notEqual((await article.locator('[data-why]').first().innerText()).trim(), '');
  const args = await article.locator('pre[data-args]').textContent();
  for (const [name, value] of Object.entries({ path: 'told.txt', content: 'told' })) {
    assert.ok(args.includes(name) && args.includes(value), args);
  }
});

scene('the newest is first, and the badge counts what waits', async ({ hub, page }) => {
  const first = await hub.agent.asks('file_write', { path: 'first.txt', content: '1\n' });
  await page.goto('/console/runs');
  const badge = page.locator('[data-badge=inbox]');
  const before = Number(await badge.innerText());
  const second = await hub.agent.asks('file_write', { path: 'second.txt', content: '2\n' });
  await badge.filter({ hasText: new RegExp(`^\\s*${before + 1}\\s*$`) }).waitFor();
  await page.goto('/console/inbox');
  const ids = await page.locator('article[data-item]').evaluateAll((all) => all.map((e) => e.dataset.id));
  const waiting = await hub.person.must('GET', '/approvals?state=pending');
  assert.deepEqual(ids.filter((id) => id.startsWith('apr_')), waiting.items.map((kept) => kept.id));
  assert.ok(ids.indexOf(second.approval) < ids.indexOf(first.approval));
});

scene('one that is decided elsewhere leaves the open inbox', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('file_write', { path: 'leaves.txt', content: 'x\n' });
  await page.goto('/console/inbox');
  await item(page, approval).waitFor();
  await hub.person.must('POST', `/approvals/${approval}/deny`, {});
  await item(page, approval).waitFor({ state: 'detached' });
});

scene('what is typed survives what comes in meanwhile', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('file_write', { path: 'typed.txt', content: 'x\n' });
  await page.goto('/console/inbox');
  const article = item(page, approval);
  await article.locator('details[data-deny] > summary').click();
  await article.locator('textarea[name=reason]').fill('not while the release is');
  const next = await hub.agent.asks('file_write', { path: 'meanwhile.txt', content: 'x\n' });
  await item(page, next.approval).waitFor();
  assert.equal(await article.locator('textarea[name=reason]').inputValue(), 'not while the release is');
});

scene('a diff of several files, as one column or as two', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('project_tidy', {});
  await page.goto(`/console/inbox/${approval}`);
  await page.locator('[data-state=pending]').first().waitFor();
  const files = page.locator('.diff section[data-file]');
  const names = await files.evaluateAll((all) => all.map((e) => e.dataset.file.split('/').pop()).sort());
  assert.deepEqual(names, ['README.md', 'greet.py', 'paint.rs']);
  const [added, removed] = [await lines(page, 'added'), await lines(page, 'removed')];
  await follow(page, page.locator('a[data-view=split]').first());
  const side = (name) => page.locator(`section[data-file$="greet.py"] tr td[data-side=${name}]`);
  assert.ok((await side('before').allInnerTexts()).some((text) => text.includes('print(name)')));
  assert.ok((await side('after').allInnerTexts()).some((text) => text.includes('hello, {name}')));
  await follow(page, page.locator('a[data-view=unified]').first());
  assert.deepEqual([await lines(page, 'added'), await lines(page, 'removed')], [added, removed]);
});

scene('what a run writes reaches its open page', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('project_tidy', {});
  await page.goto(`/console/runs/${run}`);
  const logs = page.locator('pre[data-logs]');
  await logs.filter({ hasText: 'done' }).waitFor();
  await hub.person.must('POST', `/approvals/${approval}/approve`, {});
  await inState(page, run, 'succeeded');
  assert.match(await page.locator('[data-timing]').first().innerText(), /\d/);
  await until('the files are written', () => hub.read('src/README.md'));
});
