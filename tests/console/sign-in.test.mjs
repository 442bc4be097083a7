// Who gets in with a token, and for how long.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { alarm, follow, stage } from './browser.mjs';
import { startHub } from './rig.mjs';

const scene = stage();
const OUT = { signedIn: false };

const PLACES = ['', '/inbox', '/runs', '/tools', '/tools/file_read', '/servers', '/audit', '/audit/1'];

async function signInWith(page, token) {
  await page.goto('/console/sign-in');
  await page.locator('input[name=token]').fill(token);
  return follow(page, page.locator('[data-act=sign-in]'));
}

function isIn(page) {
  return page.locator('[data-act=sign-out]').waitFor();
}

scene("a person's token signs in", OUT, async ({ hub, page }) => {
  await signInWith(page, hub.token('terminal'));
  assert.equal(new URL(page.url()).pathname, '/console');
  await isIn(page);
});

scene('a wrong token is refused with its page', OUT, async ({ page, context }) => {
  const answer = await signInWith(page, `hlv_${'0'.repeat(64)}`);
  assert.equal(answer.status(), 401);
  await alarm(page);
  assert.equal(await page.locator('input[name=token]').inputValue(), '', 'the page does not repeat it');
  assert.deepEqual(await context.cookies(), []);
});

scene("an agent's token is no person's", OUT, async ({ hub, page, context }) => {
  const answer = await signInWith(page, hub.token('agent'));
  assert.ok(answer.status() >= 400, `answered with ${answer.status()}`);
  await alarm(page);
  assert.deepEqual(await context.cookies(), []);
});

scene('a token does not stay in the address, and is not shown while it is typed', OUT, async ({ hub, page }) => {
  await page.goto('/console/sign-in');
  assert.equal(await page.locator('input[name=token]').getAttribute('type'), 'password');
  await signInWith(page, hub.token('terminal'));
  assert.ok(!page.url().includes(hub.token('terminal')));
});

scene('whoever signs out is out, and their old cookie is worth nothing', OUT, async ({ hub, page, context }) => {
  await signInWith(page, hub.token('terminal'));
  const kept = await context.cookies();
  await follow(page, page.locator('[data-act=sign-out]'));
  assert.equal(new URL(page.url()).pathname, '/console/sign-in');
  await context.clearCookies();
  await context.addCookies(kept);
  await page.goto('/console');
  assert.equal(new URL(page.url()).pathname, '/console/sign-in');
});

scene('a token that is revoked ends the session that began with it', OUT, async ({ hub, page }) => {
  const made = await hub.person.must('POST', '/tokens', { name: 'visitor', kind: 'person', owner: 'user:visitor' });
  await signInWith(page, made.secret);
  await isIn(page);
  await hub.person.must('DELETE', `/tokens/${made.id}`);
  await page.goto('/console/runs');
  assert.equal(new URL(page.url()).pathname, '/console/sign-in');
});

scene('without a session every page leads to the sign-in', OUT, async ({ hub, context }) => {
  for (const place of PLACES) {
    const answer = await context.request.get(`${hub.url}/console${place}`, { maxRedirects: 0 });
    assert.equal(answer.status(), 303, place);
    assert.match(answer.headers().location, /^\/console\/sign-in/, place);
  }
});

scene('the root leads to the console', async ({ hub, page }) => {
  await page.goto('/');
  assert.equal(page.url(), `${hub.url}/console`);
});

scene('the cookie is for this console alone, and for no script', OUT, async ({ hub, page, context }) => {
  await signInWith(page, hub.token('terminal'));
  const cookies = await context.cookies(`${hub.url}/console`);
  const told = cookies.map(({ name, httpOnly, sameSite, path }) => ({ name, httpOnly, sameSite, path }));
  assert.deepEqual(told, [{ name: 'helve_session', httpOnly: true, sameSite: 'Strict', path: '/console' }]);
  assert.equal(await page.evaluate(() => document.cookie), '');
  assert.deepEqual(await context.cookies(`${hub.url}/tools`), []);
});

scene('the cookie opens no door but the console', OUT, async ({ hub, page, context }) => {
  await signInWith(page, hub.token('terminal'));
  const [cookie] = await context.cookies();
  const answer = await fetch(`${hub.url}/tools`, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
  assert.equal(answer.status, 401);
});

test('many wrong tokens are slowed down', async () => {
  const hub = await startHub({ hurried: true });
  try {
    const page = await fetch(`${hub.url}/console/sign-in`);
    const cookie = page.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ');
    const csrf = /name="csrf"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*name="csrf"/.exec(await page.text());
    const statuses = new Set();
    for (let tries = 0; tries < 200 && !statuses.has(429); tries += 1) {
      const fields = { token: `hlv_${String(tries).padStart(64, '0')}`, ...(csrf && { csrf: csrf[1] ?? csrf[2] }) };
      const body = new URLSearchParams(fields);
      const headers = { cookie, origin: hub.url };
      const answer = await fetch(`${hub.url}/console/sign-in`, { method: 'POST', body, headers, redirect: 'manual' });
      await answer.text();
      statuses.add(answer.status);
    }
    assert.deepEqual([...statuses], [401, 429], hub.log);
  } finally {
    await hub.stop();
  }
});
