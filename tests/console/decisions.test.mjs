// What can go otherwise than yes: no, too late, somebody else was first, the file is not what it was.

import assert from 'node:assert/strict';

import { alarm, follow, inState, item, stage } from './browser.mjs';
import { until } from './rig.mjs';

const scene = stage();

// A page that does not hear what happens meanwhile.
const STALE = { javaScriptEnabled: false };

scene('a denial with a reason ends the run, and the agent reads the reason', async ({ hub, page }) => {
  const answered = hub.agent.call('file_write', { path: 'denied.txt', content: 'x\n' }, 'decision');
  const { id, run_id: run } = await pending(hub, 'denied.txt');
  await page.goto('/console/inbox');
  const article = item(page, id);
  await article.locator('details[data-deny] > summary').click();
  await article.locator('textarea[name=reason]').fill('use the other file');
  await follow(page, article.locator('button[data-act=deny]'));
  await page.locator('[role=status][data-said]').waitFor();
  const answer = await answered;
  assert.equal(answer.meta.state, 'denied');
  assert.match(answer.error.message, /use the other file/);
  assert.equal(hub.read('denied.txt'), undefined);
  await page.goto(`/console/runs/${run}`);
  await inState(page, run, 'denied');
  await page.getByText('use the other file').first().waitFor();
  await page.goto(`/console/inbox/${id}`);
  await page.locator('[data-state=denied]').first().waitFor();
  assert.equal(await page.locator('button[data-act=approve]').count(), 0);
});

for (const verdict of ['approve', 'deny']) {
  scene(`one that was decided elsewhere (${verdict}) is not decided again`, STALE, async ({ hub, page }) => {
    const name = `elsewhere-${verdict}.txt`;
    const { run, approval } = await hub.agent.asks('file_write', { path: name, content: 'x\n' });
    await page.goto(`/console/inbox/${approval}`);
    await hub.person.must('POST', `/approvals/${approval}/deny`, { reason: 'decided at the terminal' });
    if (verdict === 'deny') await page.locator('details[data-deny] > summary').click();
    const answer = await follow(page, page.locator(`button[data-act=${verdict}]`));
    assert.equal(answer.status(), 409);
    await alarm(page);
    const kept = await hub.person.approval(approval);
    assert.deepEqual([kept.state, kept.decisions.length], ['denied', 1]);
    assert.equal((await hub.person.run(run)).state, 'denied');
    assert.equal(hub.read(name), undefined);
  });
}

scene('a file that changed since it was shown is left alone, and the conflict is told', async ({ hub, page }) => {
  hub.write('contested.txt', 'as it was\n');
  const { run, approval } = await hub.agent.asks('file_write', { path: 'contested.txt', content: 'as the agent wants it\n' });
  await page.goto(`/console/inbox/${approval}`);
  hub.write('contested.txt', 'as somebody else wrote it\n');
  await follow(page, page.locator('button[data-act=approve]'));
  const ended = await hub.person.ended(run);
  assert.deepEqual([ended.state, ended.answer.error.type], ['failed', 'conflict']);
  assert.equal(hub.read('contested.txt'), 'as somebody else wrote it\n');
  await page.goto(`/console/runs/${run}`);
  await inState(page, run, 'failed');
  const told = await page.locator('main').innerText();
  assert.ok(told.includes('contested.txt') && told.includes('changed by somebody else'), told);
});

scene('an undo that would overwrite what came later shows the conflict, and does nothing', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'later.txt', content: 'by the agent\n' });
  await hub.person.must('POST', `/approvals/${approval}/approve`, {});
  await hub.person.ended(run);
  hub.write('later.txt', 'by somebody, later\n');
  await page.goto(`/console/runs/${run}/undo`);
  assert.match(await alarm(page), /later\.txt/);
  assert.equal(hub.read('later.txt'), 'by somebody, later\n');
});

scene('a run is undone once', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'twice.txt', content: 'once\n' });
  await hub.person.must('POST', `/approvals/${approval}/approve`, {});
  await hub.person.ended(run);
  await page.goto(`/console/runs/${run}/undo`);
  await hub.person.must('POST', `/runs/${run}/undo`, {});
  const answer = await follow(page, page.locator('button[data-act=undo-now]'));
  assert.equal(answer.status(), 409);
  await alarm(page);
  assert.equal(hub.read('twice.txt'), undefined);
});

scene('a run that is cancelled on its page ends', async ({ hub, page }) => {
  const { meta } = await hub.agent.call('human_input', { question: 'Still there?' }, 'nothing');
  await hub.person.question(meta.run_id);
  await page.goto(`/console/runs/${meta.run_id}`);
  await page.locator('button[data-act=cancel]').click();
  await inState(page, meta.run_id, 'cancelled');
  assert.equal((await hub.agent.run(meta.run_id)).state, 'cancelled');
});

scene('an approval that nobody has heard of is a page that says so', async ({ page }) => {
  for (const place of ['/console/inbox/apr_0', `/console/inbox/apr_${'0'.repeat(32)}`, `/console/runs/run_${'0'.repeat(32)}`]) {
    const answer = await page.goto(place);
    assert.equal(answer.status(), 404, place);
    await alarm(page);
  }
});

async function pending(hub, name) {
  return until(`an approval for ${name}`, async () => {
    const { items } = await hub.person.must('GET', '/approvals?state=pending');
    return items.find((kept) => kept.args.path === name);
  });
}
