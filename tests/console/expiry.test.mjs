// What nobody decided in time.

import assert from 'node:assert/strict';

import { alarm, follow, inState, item, stage } from './browser.mjs';
import { until } from './rig.mjs';

const scene = stage({ hub: { toml: '[approvals]\nask_for = "4s"\n' } });

function expired(hub, approval) {
  return until('the approval expires', async () => (await hub.person.approval(approval)).state === 'expired');
}

scene('a yes that comes too late is refused, and nothing is done', { javaScriptEnabled: false }, async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'late.txt', content: 'x\n' });
  await page.goto('/console/inbox');
  const button = item(page, approval).locator('button[data-act=approve]');
  assert.equal(await button.count(), 1, 'it was open when the page was made');
  await expired(hub, approval);
  const answer = await follow(page, button);
  assert.equal(answer.status(), 409);
  await alarm(page);
  assert.equal(hub.read('late.txt'), undefined);
  await page.goto(`/console/inbox/${approval}`);
  await page.locator('[data-state=expired]').first().waitFor();
  assert.equal(await page.locator('button[data-act=approve]').count(), 0);
  await page.goto(`/console/runs/${run}`);
  await inState(page, run, (await hub.person.run(run)).state);
});

scene('what expires leaves the open inbox', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('file_write', { path: 'gone.txt', content: 'x\n' });
  await page.goto('/console/inbox');
  await item(page, approval).waitFor();
  await item(page, approval).waitFor({ state: 'detached' });
  await expired(hub, approval);
});
