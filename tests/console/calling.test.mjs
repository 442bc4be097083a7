// Tools on their pages: found, read, called, switched off, rolled back.

import assert from 'node:assert/strict';

import { alarm, follow, inState, item, stage } from './browser.mjs';
import { PAINT, PROJECT } from './furnished.mjs';

const scene = stage({ hub: { files: PROJECT } });

const ECHO = {
  name: 'say_word',
  description: 'Says a word. Use it when a word must be said.',
  risk: 'exec_low',
  executor: { type: 'host', command: ['echo', '{word}'] },
  input_schema: {
    type: 'object',
    required: ['word'],
    additionalProperties: false,
    properties: { word: { type: 'string', enum: ['one', 'two'], description: 'Which word' } },
  },
};

function field(page, name) {
  return page.locator(`form[data-form=call] [name="arg.${name}"]`);
}

/** Calls the tool of the open page by its form: the id of the run. */
async function call(page) {
  await follow(page, page.locator('button[data-act=call]'));
  const [, run] = /^\/console\/runs\/(run_[0-9a-f]+)$/.exec(new URL(page.url()).pathname) ?? [];
  assert.ok(run, `the page of the run, and not ${page.url()}`);
  return run;
}

scene('tools stand in groups, and are found by what they do', async ({ hub, page }) => {
  const { items } = await hub.person.must('GET', '/tools?limit=200');
  await page.goto('/console/tools');
  const shown = await page.locator('main a[data-tool]').evaluateAll((all) => all.map((e) => e.dataset.tool));
  assert.deepEqual([...new Set(shown)].sort(), items.map((tool) => tool.id).sort());
  await page.locator('input[name=q]').fill('write a file');
  await page.locator('input[name=q]').press('Enter');
  await page.waitForURL(/[?&]q=write/);
  await page.locator('main a[data-tool=file_write]').first().waitFor();
  const found = await page.locator('main a[data-tool]').count();
  assert.ok(found < items.length, 'only what fits');
  await follow(page, page.locator('main a[data-tool=file_write]').first());
  assert.equal(new URL(page.url()).pathname, '/console/tools/file_write');
  const { definition } = await hub.person.must('GET', '/tools/file_write');
  const told = await page.locator('main').innerText();
  for (const text of [definition.title, definition.description.split('.')[0]]) assert.ok(told.includes(text), text);
});

scene('a search that finds nothing says so', async ({ page }) => {
  const answer = await page.goto('/console/tools?q=zzzqqqxxx');
  assert.equal(answer.status(), 200);
  assert.equal(await page.locator('input[name=q]').inputValue(), 'zzzqqqxxx');
});

scene('a tool that reads is called by its form, and its page shows what it gave', async ({ page }) => {
  await page.goto('/console/tools/file_read');
  await field(page, 'path').fill('src/paint.rs');
  const run = await call(page);
  await inState(page, run, 'succeeded');
  await page.locator('pre[data-output]', { hasText: PAINT.split('\n')[1] }).waitFor();
});

scene('what a person writes by a form is written as they typed it', async ({ hub, page }) => {
  const text = 'first line\n\n  second, with "quotes" & <angles>\n中文\n';
  await page.goto('/console/tools/file_write');
  await field(page, 'path').fill('typed.txt');
  assert.equal(await field(page, 'content').evaluate((e) => e.localName), 'textarea');
  await field(page, 'content').fill(text);
  await field(page, 'mode').selectOption('create_new');
  const run = await call(page);
  const kept = await hub.person.run(run);
  assert.deepEqual([kept.args.content, kept.args.mode], [text, 'create_new']);
  assert.equal(kept.owner, (await hub.person.must('GET', '/me')).owner, 'it was the person who called');
});

scene('what a person asked for, the same person does not decide', async ({ hub, page }) => {
  await page.goto('/console/tools/file_write');
  await field(page, 'path').fill('own.txt');
  await field(page, 'content').fill('own\n');
  const run = await call(page);
  const { approval_id: approval } = await hub.person.run(run);
  await page.goto('/console/inbox');
  const article = item(page, approval);
  const button = article.locator('button[data-act=approve]');
  // Whether it offers nothing or refuses: nothing is decided.
  if (await button.count()) {
    const answer = await follow(page, button);
    assert.ok(answer.status() >= 400, `answered with ${answer.status()}`);
    await alarm(page);
  }
  assert.deepEqual((await hub.person.approval(approval)).decisions, []);
  assert.equal(hub.read('own.txt'), undefined);
});

/** Sends the form of a tool with a number that does not fit, as a browser would not; the field. */
async function misfit(hub, page) {
  await page.goto('/console/tools/file_grep');
  const { definition } = await hub.person.must('GET', '/tools/file_grep');
  const [name] = Object.entries(definition.input_schema.properties).find(([, p]) => p.type === 'integer');
  await field(page, 'pattern').fill('fn ');
  await page.locator('form[data-form=call]').evaluate((form) => (form.noValidate = true));
  await field(page, name).evaluate((input) => {
    input.type = 'text';
    input.value = '-3';
  });
  const answer = await follow(page, page.locator('button[data-act=call]'));
  return { name, status: answer.status() };
}

scene('what does not fit is told, and nothing runs', async ({ hub, page }) => {
  const before = await hub.person.must('GET', '/runs?tool=file_grep');
  const { name, status } = await misfit(hub, page);
  assert.equal(status, 422);
  assert.match(await alarm(page), new RegExp(name));
  assert.deepEqual(await hub.person.must('GET', '/runs?tool=file_grep'), before);
});

scene('what was typed stays when something of it does not fit', async ({ hub, page }) => {
  await misfit(hub, page);
  assert.equal(await field(page, 'pattern').inputValue(), 'fn ');
});

scene('a tool is switched off, and on again', async ({ hub, page }) => {
  await hub.person.must('PUT', `/tools/${ECHO.name}`, ECHO);
  await page.goto(`/console/tools/${ECHO.name}`);
  await follow(page, page.locator('button[data-act=disable]'));
  assert.equal((await hub.person.must('GET', `/tools/${ECHO.name}`)).enabled, false);
  const { status } = await hub.agent.ask('POST', `/tools/${ECHO.name}/runs`, { args: { word: 'one' } });
  assert.ok(status >= 400, `a call is answered with ${status}`);
  await page.goto(`/console/tools/${ECHO.name}`);
  await follow(page, page.locator('button[data-act=enable]'));
  const { ok } = await hub.agent.call(ECHO.name, { word: 'one' });
  assert.equal(ok, true);
});

scene('an old version comes back', async ({ hub, page }) => {
  const name = 'say_version';
  await hub.person.must('PUT', `/tools/${name}`, { ...ECHO, name });
  const old = await hub.person.must('GET', `/tools/${name}`);
  const description = 'Says a word aloud. Use it when silence is wrong.';
  await hub.person.must('PUT', `/tools/${name}`, { ...ECHO, name, description });
  await page.goto(`/console/tools/${name}`);
  const version = page.locator(`[data-version="${old.version}"]`);
  await follow(page, version.locator('button[data-act=roll-back]'));
  const now = await hub.person.must('GET', `/tools/${name}`);
  assert.equal(now.definition.description, ECHO.description);
});

scene('a tool that is not there is a page that says so', async ({ page }) => {
  const answer = await page.goto('/console/tools/no_such_tool');
  assert.equal(answer.status(), 404);
  await alarm(page);
});
