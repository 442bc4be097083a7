// The link that signs in, once.

import assert from 'node:assert/strict';

import { alarm, stage } from './browser.mjs';

const scene = stage();
const OUT = { signedIn: false };

function isIn(page) {
  return page.locator('[data-act=sign-out]').waitFor();
}

scene('the link of `helve console` signs in and goes on to the overview', OUT, async ({ hub, page }) => {
  const link = await hub.link();
  assert.ok(link.startsWith(`${hub.url}/console/enter/`), link);
  const answer = await page.goto(link);
  assert.equal(answer.status(), 200);
  await page.waitForURL(`${hub.url}/console`);
  await isIn(page);
});

scene('without scripts the page behind the link has one that goes on', { ...OUT, javaScriptEnabled: false }, async ({ hub, page }) => {
  await page.goto(await hub.link());
  const onward = page.locator('[data-act=continue]');
  // Where the browser follows the refresh by itself, the overview is there already.
  await page.locator('[data-act=continue], [data-act=sign-out]').first().waitFor();
  if (await onward.isVisible()) await onward.click().catch(() => {});
  await page.waitForURL(`${hub.url}/console`);
  await isIn(page);
});

scene('the command prints the link alone on its line', OUT, async ({ hub, page }) => {
  const printed = await hub.command('console');
  const link = printed.trim();
  assert.equal(printed, `${link}\n`);
  assert.equal((await page.goto(link)).status(), 200);
});

scene('a link works once', OUT, async ({ hub, page, another }) => {
  const link = await hub.link();
  await page.goto(link);
  await page.waitForURL(`${hub.url}/console`);
  const later = await another();
  const second = await later.newPage();
  const answer = await second.goto(link);
  assert.ok(answer.status() >= 400, `the second use is answered with ${answer.status()}`);
  assert.deepEqual(await later.cookies(), []);
  await second.goto('/console');
  assert.equal(new URL(second.url()).pathname, '/console/sign-in');
  await later.close();
});

scene('a link that nobody made is refused', OUT, async ({ page, context }) => {
  const answer = await page.goto(`/console/enter/${'0'.repeat(64)}`);
  assert.ok(answer.status() >= 400);
  await alarm(page);
  assert.deepEqual(await context.cookies(), []);
});
