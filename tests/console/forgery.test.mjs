// Nothing is done that the person in front of the page did not do, and no page takes in foreign code.

import assert from 'node:assert/strict';

import { alarm, follow, item, stage } from './browser.mjs';
import { PROJECT, everyPage, furnish } from './furnished.mjs';

const scene = stage({ hub: { files: PROJECT }, prepare: furnish });

const CLASSES = ['default-src', 'script-src', 'style-src', 'base-uri', 'form-action', 'frame-ancestors'];

async function asked(hub, name) {
  return hub.agent.asks('file_write', { path: `${name}.txt`, content: 'forged\n' });
}

async function untouched(hub, approval, name) {
  const { state, decisions } = await hub.person.approval(approval);
  assert.deepEqual({ state, decisions }, { state: 'pending', decisions: [] });
  assert.equal(hub.read(`${name}.txt`), undefined);
}

for (const [name, spoil] of [
  ['wrong', (fields) => fields.forEach((field) => (field.value = field.value.replace(/./g, 'f')))],
  ['empty', (fields) => fields.forEach((field) => (field.value = ''))],
  ['missing', (fields) => fields.forEach((field) => field.remove())],
]) {
  scene(`a form whose mark is ${name} is refused, and nothing is done`, async ({ hub, page }) => {
    const { approval } = await asked(hub, name);
    await page.goto(`/console/inbox/${approval}`);
    await page.locator('input[name=csrf]').evaluateAll(spoil);
    const answer = await follow(page, page.locator('button[data-act=approve]'));
    assert.equal(answer.status(), 403);
    await alarm(page);
    await untouched(hub, approval, name);
  });
}

scene("another session's mark is no good", async ({ hub, page, another }) => {
  const { approval } = await asked(hub, 'other');
  const elsewhere = await another({ signedIn: false });
  const other = await elsewhere.newPage();
  await other.goto(await hub.link());
  // The page goes on by itself; nothing else is asked for until it is there.
  await other.waitForURL(`${hub.url}/console`);
  await other.goto('/console/inbox');
  const mark = await other.locator('input[name=csrf]').first().inputValue();
  await page.goto(`/console/inbox/${approval}`);
  const fields = page.locator('input[name=csrf]');
  assert.notEqual(await fields.first().inputValue(), mark);
  await fields.evaluateAll((all, value) => all.forEach((field) => (field.value = value)), mark);
  const answer = await follow(page, page.locator('button[data-act=approve]'));
  assert.equal(answer.status(), 403);
  await untouched(hub, approval, 'other');
  await elsewhere.close();
});

scene('a form that another site sends is refused', async ({ hub, page, context }) => {
  const { approval } = await asked(hub, 'site');
  await page.goto(`/console/inbox/${approval}`);
  const form = page.locator('form').filter({ has: page.locator('button[data-act=approve]') }).first();
  const action = await form.evaluate((e) => e.action);
  const csrf = await form.locator('input[name=csrf]').inputValue();
  const headers = { origin: 'http://evil.example' };
  const answer = await context.request.post(action, { form: { csrf }, headers, maxRedirects: 0 });
  assert.equal(answer.status(), 403);
  await untouched(hub, approval, 'site');
});

scene('looking at a page decides nothing', async ({ hub, page, context }) => {
  const { approval } = await asked(hub, 'looked');
  await page.goto('/console/inbox');
  const article = item(page, approval);
  const forms = article.locator('form');
  await forms.first().waitFor();
  for (const form of await forms.all()) {
    const { method, action } = await form.evaluate((e) => ({ method: e.method, action: e.action }));
    assert.equal(method, 'post');
    await context.request.get(action, { maxRedirects: 0 });
  }
  await untouched(hub, approval, 'looked');
});

scene('every page has a strict policy, and nothing inline', async ({ page, made }) => {
  for (const place of everyPage(made)) {
    const answer = await page.goto(place);
    const headers = answer.headers();
    const policy = parsed(headers['content-security-policy']);
    for (const name of CLASSES) assert.ok(policy[name], `${place} says nothing of ${name}`);
    assert.deepEqual(policy['default-src'], ["'none'"], place);
    assert.deepEqual(policy['frame-ancestors'], ["'none'"], place);
    const loose = Object.values(policy).flat().filter((word) => /unsafe|\*|data:|^https?:$/.test(word));
    assert.deepEqual(loose, [], place);
    assert.equal(headers['x-content-type-options'], 'nosniff', place);
    assert.equal(headers['x-frame-options'], 'DENY', place);
    assert.match(headers['cache-control'], /no-store/, place);
    assert.match(headers['referrer-policy'], /no-referrer|same-origin/, place);
    const inline = await page.locator('script:not([src]), style, [style], [onclick], [onload], [onerror], [onsubmit]').count();
    assert.equal(inline, 0, place);
  }
});

function parsed(policy = '') {
  const parts = policy.split(';').map((part) => part.trim().split(/\s+/));
  return Object.fromEntries(parts.map(([name, ...words]) => [name, words]));
}
