// On a phone, by night, in Chinese, without scripts, and for those who hear a page.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';

import { PHONE, follow, inState, item, stage, whole } from './browser.mjs';
import { PROJECT, everyPage, furnish } from './furnished.mjs';

const scene = stage({ hub: { files: PROJECT }, prepare: furnish });

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

scene('no page is wider than a phone', { viewport: PHONE, hasTouch: true, isMobile: true }, async ({ page, made }) => {
  for (const place of [...everyPage(made), `/console/inbox/${made.waiting.approval}?view=split`]) {
    await page.goto(place);
    await whole(page);
  }
});

scene('the sign-in is not wider than a phone', { viewport: PHONE, signedIn: false }, async ({ page }) => {
  await page.goto('/console/sign-in');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
});

scene('one approves on a phone', { viewport: PHONE, hasTouch: true, isMobile: true }, async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'phone.txt', content: 'on the way\n' });
  await page.goto('/console/inbox');
  const button = item(page, approval).locator('button[data-act=approve]');
  const { width, height } = await button.boundingBox();
  assert.ok(width >= 40 && height >= 32, `a finger hits ${width} by ${height}`);
  await button.tap();
  await page.locator('[role=status][data-said]').waitFor();
  await hub.person.ended(run);
  assert.equal(hub.read('phone.txt'), 'on the way\n');
});

scene('without scripts one reads, approves, undoes and answers', { javaScriptEnabled: false }, async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'plain.txt', content: 'plain\n' });
  await page.goto('/console/inbox');
  const article = item(page, approval);
  assert.match(await article.locator('tr[data-sign=added]').first().innerText(), /plain/);
  await follow(page, article.locator('button[data-act=approve]'));
  await page.locator('[role=status][data-said]').waitFor();
  await hub.person.ended(run);
  assert.equal(hub.read('plain.txt'), 'plain\n');
  await page.goto(`/console/runs/${run}`);
  await inState(page, run, 'succeeded');
  await follow(page, page.locator('a[data-act=undo]'));
  await follow(page, page.locator('button[data-act=undo-now]'));
  assert.equal(hub.read('plain.txt'), undefined);
  const { meta } = await hub.agent.call('human_input', { question: 'Plain?' }, 'nothing');
  const { id } = await hub.person.question(meta.run_id);
  await page.goto('/console/inbox');
  await item(page, id).locator(':is(input, textarea):not([type=hidden])').first().fill('plainly');
  await follow(page, item(page, id).locator('button[data-act=answer]'));
  assert.equal((await hub.agent.ended(meta.run_id)).answer.data.answer, 'plainly');
});

scene('by night it is dark, by day light', async ({ page, another }) => {
  const ground = async (colorScheme) => {
    const context = await another({ colorScheme });
    const shown = await context.newPage();
    await shown.goto('/console/inbox');
    const colours = await shown.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      const ground = backgroundColor === 'rgba(0, 0, 0, 0)' ? getComputedStyle(document.documentElement).backgroundColor : backgroundColor;
      return [ground, color].map((text) => text.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
    });
    await context.close();
    return colours;
  };
  const [lightGround, lightInk] = await ground('light');
  const [darkGround, darkInk] = await ground('dark');
  assert.ok(lightGround > lightInk && darkGround < darkInk, 'ink and ground change places');
  assert.ok(lightGround > darkGround);
  await page.goto('/console');
});

for (const [locale, lang, places] of [['zh-CN', 'zh', everyPage], ['zh-TW', 'zh', start], ['en-GB', 'en', start], ['fr-FR', 'en', start]]) {
  scene(`who reads ${locale} gets ${lang}`, { locale }, async ({ page, made }) => {
    for (const place of places(made)) {
      await page.goto(place);
      assert.match(await page.locator('html').getAttribute('lang'), new RegExp(`^${lang}`), place);
      const links = await page.locator('header nav li a').allInnerTexts();
      assert.equal(links.length, 6);
      for (const text of links) assert.equal(/\p{Script=Han}/u.test(text), lang === 'zh', text);
    }
  });
}

for (const colorScheme of ['light', 'dark']) {
  // Only here may a page run what it did not bring itself: the rules of accessibility.
  scene(`nobody is shut out: axe finds nothing serious (${colorScheme})`, { colorScheme, bypassCSP: true }, async ({ page, made, another }) => {
    const found = [];
    for (const place of everyPage(made)) {
      await page.goto(place);
      found.push(...(await serious(page, place)));
    }
    const out = await another({ signedIn: false });
    const door = await out.newPage();
    await door.goto('/console/sign-in');
    found.push(...(await serious(door, '/console/sign-in')));
    await out.close();
    assert.deepEqual(found, []);
  });
}

function start() {
  return ['/console'];
}

async function serious(page, place) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const grave = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
  return grave.map(({ id, nodes }) => `${place}: ${id}: ${nodes.slice(0, 3).map((n) => `${n.html.slice(0, 150)} (${n.failureSummary.split('\n').pop().trim()})`).join(' | ')}`);
}
