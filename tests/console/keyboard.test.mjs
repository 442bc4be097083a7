// Everything without a mouse.

import assert from 'node:assert/strict';

import { follow, item, stage } from './browser.mjs';
import { PROJECT, everyPage, furnish } from './furnished.mjs';
import { until } from './rig.mjs';

const scene = stage({ hub: { files: PROJECT }, prepare: furnish });

// What somebody can act on.
const CONTROLS = 'a[href], button, input:not([type=hidden]), select, textarea, summary';

/** Where the keyboard is: what it is, and whether one sees that. */
function focused(page) {
  return page.evaluate((controls) => {
    const element = document.activeElement;
    if (!element || element === document.body) return null;
    const look = () => {
      const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, textDecorationLine } = getComputedStyle(element);
      return [outlineStyle, outlineStyle === 'none' ? '' : outlineWidth + outlineColor, boxShadow, borderColor, backgroundColor, textDecorationLine].join();
    };
    const now = look();
    element.blur();
    const otherwise = look();
    element.focus({ preventScroll: true, focusVisible: true });
    return {
      index: [...document.querySelectorAll(controls)].indexOf(element),
      what: element.outerHTML.slice(0, 120),
      visible: now !== otherwise,
    };
  }, CONTROLS);
}

/** Goes through the page with Tab, once around. */
async function around(page) {
  const reached = new Set();
  const unseen = [];
  const most = 3 * (await page.locator(CONTROLS).count()) + 20;
  for (let presses = 0; presses < most; presses += 1) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    // Between the end of the page and its beginning the keyboard is nowhere.
    if (!at) continue;
    if (at.index >= 0 && reached.has(at.index)) break;
    reached.add(at.index);
    if (!at.visible) unseen.push(at.what);
  }
  return { reached, unseen };
}

/** What the page offers, and the keyboard must come to. */
function offered(page) {
  return page.evaluate((controls) => {
    const all = [...document.querySelectorAll(controls)];
    const open = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.tabIndex >= 0;
    return all.map((e, index) => ({ index, what: e.outerHTML.slice(0, 120), open: open(e) })).filter((e) => e.open);
  }, CONTROLS);
}

async function selected(page) {
  return page.locator('article[data-item][aria-current=true]').evaluateAll((all) => all.map((e) => e.dataset.id));
}

scene('Tab reaches all that a page offers, and one sees where it is', async ({ page, made }) => {
  const places = [...everyPage(made)];
  for (const place of places) {
    await page.goto(place);
    const { reached, unseen } = await around(page);
    const missed = (await offered(page)).filter(({ index }) => !reached.has(index)).map(({ what }) => what);
    assert.deepEqual(missed, [], `${place}: reached by Tab`);
    assert.deepEqual(unseen, [], `${place}: seen when the keyboard is there`);
  }
});

scene('the first Tab offers to skip the navigation', async ({ page }) => {
  await page.goto('/console/runs');
  await page.keyboard.press('Tab');
  const skip = page.locator('a[href="#main"]:focus');
  assert.equal(await skip.count(), 1);
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
});

scene('one signs in without a mouse', { signedIn: false }, async ({ hub, page }) => {
  await page.goto('/console/sign-in');
  await page.locator('input[name=token]:focus').waitFor();
  await page.keyboard.type(hub.token('terminal'));
  await page.keyboard.press('Enter');
  await page.waitForURL(`${hub.url}/console`);
});

scene('j and k go through the inbox, and stop at its ends', async ({ page }) => {
  await page.goto('/console/inbox');
  const ids = await page.locator('article[data-item]').evaluateAll((all) => all.map((e) => e.dataset.id));
  assert.ok(ids.length >= 2, `${ids}`);
  assert.deepEqual(await selected(page), []);
  for (const [key, at] of [['j', 0], ['j', 1], ['k', 0], ['k', 0], ...ids.map((_, i) => ['j', Math.min(i + 1, ids.length - 1)]), ['j', ids.length - 1]]) {
    await page.keyboard.press(key);
    assert.deepEqual(await selected(page), [ids[at]]);
  }
});

scene('a approves the selected one, and no other', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'by-key.txt', content: 'by key\n' });
  await page.goto('/console/inbox');
  await item(page, approval).waitFor();
  await page.keyboard.press('a');
  assert.equal((await hub.person.approval(approval)).state, 'pending', 'nothing is selected');
  await until('it is selected', async () => {
    await page.keyboard.press('j');
    return (await selected(page)).includes(approval);
  });
  await page.keyboard.press('a');
  await page.locator('[role=status][data-said]').waitFor();
  await hub.person.ended(run);
  assert.equal(hub.read('by-key.txt'), 'by key\n');
});

scene('d opens the reason and puts the cursor there; what is typed are letters', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'no.txt', content: 'no\n' });
  await page.goto('/console/inbox');
  await until('it is selected', async () => {
    await page.keyboard.press('j');
    return (await selected(page)).includes(approval);
  });
  await page.keyboard.press('d');
  const reason = item(page, approval).locator('textarea[name=reason]:focus');
  await reason.waitFor();
  await page.keyboard.type('a bad idea, j k d a');
  assert.equal(await reason.inputValue(), 'a bad idea, j k d a');
  assert.equal((await hub.person.approval(approval)).state, 'pending');
  await page.keyboard.press('Tab');
  await page.locator('button[data-act=deny]:focus').waitFor();
  await page.keyboard.press('Enter');
  const { answer } = await hub.agent.ended(run);
  assert.match(answer.error.message, /a bad idea, j k d a/);
  await page.locator('[role=status][data-said]').waitFor();
});

scene('keys with Control, Alt or Meta are the browser\'s', async ({ hub, page }) => {
  const { approval } = await hub.agent.asks('file_write', { path: 'chord.txt', content: 'x\n' });
  await page.goto('/console/inbox');
  await until('it is selected', async () => {
    await page.keyboard.press('j');
    return (await selected(page)).includes(approval);
  });
  for (const key of ['Control+a', 'Alt+a', 'Meta+a']) await page.keyboard.press(key);
  await follow(page, page.locator('nav a[href="/console/runs"]'));
  assert.equal((await hub.person.approval(approval)).state, 'pending');
});

scene('the keyboard stays where it is while things come in', async ({ hub, page }) => {
  for (const place of ['/console/runs', '/console']) {
    await page.goto(place);
    const link = page.locator('table[data-list=runs] tr[data-run] a').first();
    const target = await link.getAttribute('href');
    await link.focus();
    const { meta } = await hub.agent.call('file_read', { path: 'src/greet.py' });
    await page.locator(`tr[data-run="${meta.run_id}"][data-state=succeeded]`).waitFor();
    const at = await page.evaluate(() => document.activeElement.getAttribute('href'));
    assert.equal(at, target, place);
  }
});
