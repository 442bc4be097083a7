// A yes that holds from now on.

import assert from 'node:assert/strict';

import { follow, inState, item, stage } from './browser.mjs';

const scene = stage({ hub: { toml: '[toolsets]\non = ["shell_exec"]\n' } });

scene('the rule is shown before it is saved; then the same call runs without asking', async ({ hub, page }) => {
  const args = { path: 'journal.txt', content: 'a day\n' };
  const { run, approval } = await hub.agent.asks('file_write', args);
  const before = hub.read('helve.toml');
  await page.goto('/console/inbox');
  await follow(page, item(page, approval).locator('a[data-act=remember]'));
  assert.equal(new URL(page.url()).pathname, `/console/inbox/${approval}/remember`);
  const rule = await page.locator('pre[data-rule]').innerText();
  assert.match(rule, /\[\[policy\]\]/);
  assert.match(rule, /effect = "allow"/);
  assert.match(rule, /tool = "file_write"/);
  assert.equal(hub.read('helve.toml'), before, 'looking saves nothing');
  await hub.agent.asks('file_write', { ...args, path: 'asked-before.txt' });

  await follow(page, page.locator('button[data-act=save]'));
  await page.locator('[role=status][data-said]').waitFor();
  await page.goto(`/console/runs/${run}`);
  await inState(page, run, 'succeeded');
  assert.equal(hub.read('journal.txt'), args.content, 'it was a yes to what was asked, too');
  const again = await hub.agent.call('file_write', args);
  assert.deepEqual([again.ok, again.meta.state, again.meta.approval_id], [true, 'succeeded', undefined]);
  assert.ok(hub.read('helve.toml').startsWith(before), 'what people wrote stays as they wrote it');
});

scene('other tools are asked about as before', async ({ hub }) => {
  hub.write('kept.txt', 'kept\n');
  await hub.agent.asks('file_delete', { path: 'kept.txt' });
});

scene('the rule of an approval that is decided can not be saved', { javaScriptEnabled: false }, async ({ hub, page }) => {
  hub.write('old.txt', 'old\n');
  const { approval } = await hub.agent.asks('file_delete', { path: 'old.txt' });
  await page.goto(`/console/inbox/${approval}/remember`);
  await hub.person.must('POST', `/approvals/${approval}/deny`, {});
  const before = hub.read('helve.toml');
  const answer = await follow(page, page.locator('button[data-act=save]'));
  assert.equal(answer.status(), 409);
  assert.equal(hub.read('helve.toml'), before);
  assert.equal(hub.read('old.txt'), 'old\n');
  await page.goto(`/console/inbox/${approval}/remember`);
  assert.equal(await page.locator('button[data-act=save]').count(), 0);
});

scene('what cannot be written as a rule for these arguments is no rule for all', async ({ hub, page }) => {
  // Neither a pattern of the rules nor several lines: as such they would mean something else.
  for (const command of ['echo *', 'echo [a]?', 'echo one\necho two']) {
    const { approval } = await hub.agent.asks('shell_exec', { command });
    await page.goto(`/console/inbox/${approval}/remember`);
    const save = page.locator('button[data-act=save]');
    if (await save.count()) await follow(page, save);
    await hub.agent.asks('shell_exec', { command: 'echo something else' });
  }
});
