// Text of strangers, wherever it can get in: it is shown, and nothing comes of it.
//
// Every page is looked at twice: as it is, where a breach of its policy would be told, and
// without the policy, where only the escaping stands between a text and the page.

import assert from 'node:assert/strict';

import { alarm, follow, item, stage, whole } from './browser.mjs';

const ATTACKS = {
  script: '<script>window.__xss=1</script>',
  image: '<img src=x onerror="window.__xss=1">',
  double: '" autofocus onfocus="window.__xss=1" tabindex="1" x="',
  single: "' onmouseover='window.__xss=1' x='",
  closing: '</pre></textarea></title></option></select></bdi></td></table><svg onload="window.__xss=1"></svg>',
  comment: '--><script>window.__xss=1</script><!--',
  link: '[x](javascript:window.__xss=1) javascript:window.__xss=1',
  entity: '&lt;img src=x onerror=window.__xss=1&gt;&#x3c;script&#x3e;',
};

// Each is shown as its number, and never as itself.
const HIDDEN = { '\u001b': 'U+001B', '\u0007': 'U+0007', '\u202e': 'U+202E', '\u2066': 'U+2066', '\u200b': 'U+200B', '\u2060': 'U+2060', '\ufeff': 'U+FEFF' };
const LURKING = `\u001b[31mred\u001b]8;;javascript:x\u0007 \u202etxt.exe\u2066 a\u200bb\u2060c\ufeff`;

const HOSTILE = [...Object.values(ATTACKS), LURKING].join(' ');
const NAMES = ['<img src=x onerror=window.__xss=1>.txt', `"onfocus="window.__xss=1" autofocus.txt`, 'bidi\u202etxt.exe', 'zero\u200bwidth.txt', "it's & more.txt"];

const TOOL = {
  name: 'hostile_tool',
  title: `Hostile ${ATTACKS.image}`,
  description: `Does harm ${ATTACKS.script} ${ATTACKS.closing}. Use it when a page is tested.`,
  category: `x${ATTACKS.image}`,
  risk: 'exec_low',
  executor: { type: 'host', command: ['sh', 'hostile.sh', '{text}'] },
  triggers: [ATTACKS.double],
  warnings: [ATTACKS.closing],
  input_schema: {
    type: 'object',
    additionalProperties: true,
    properties: {
      text: { type: 'string', description: ATTACKS.closing, default: ATTACKS.double },
      choice: { type: 'string', enum: [ATTACKS.image, ATTACKS.double], description: ATTACKS.script },
      [ATTACKS.image]: { type: 'string', description: ATTACKS.image },
      [ATTACKS.double]: { type: 'boolean', description: ATTACKS.double },
    },
  },
};

const LONG = 10 * 1024 * 1024;

const scene = stage({
  hub: {
    files: {
      'hostile.sh': 'printf "%s\\n" "$1"; printf "%s\\n" "$1" >&2\n',
      'long.sh': `head -c ${LONG} /dev/zero | tr "\\0" "<"\n`,
      'bidi.txt': 'plain\n',
      'long.txt': `begin ${'<b>'.repeat(LONG / 3)}\n`,
    },
  },
  prepare,
});

async function prepare(hub) {
  await hub.person.must('POST', '/tools', TOOL);
  const said = await hub.agent.call('hostile_tool', { text: HOSTILE, [ATTACKS.image]: HOSTILE });
  const waiting = [];
  for (const name of NAMES) {
    const path = name.replaceAll('/', '_');
    waiting.push(await hub.agent.asks('file_write', { path, content: `${Object.values(ATTACKS).join('\n')}\n${LURKING}\n` }));
  }
  const edit = await hub.agent.asks('file_edit', { path: 'bidi.txt', old_string: 'plain', new_string: HOSTILE });
  const denied = await hub.agent.asks('file_write', { path: 'denied.txt', content: 'x\n' });
  await hub.person.must('POST', `/approvals/${denied.approval}/deny`, { reason: HOSTILE });
  const options = Object.values(ATTACKS);
  const asked = await hub.agent.call('human_input', { question: HOSTILE, context: HOSTILE, options }, 'nothing');
  const question = await hub.person.question(asked.meta.run_id);
  const wrong = await hub.agent.call('file_read', { path: `nowhere ${ATTACKS.image.replaceAll('/', '')}` });
  return { said: said.meta.run_id, waiting, edit, denied, question: question.id, wrong: wrong.meta.run_id };
}

function pages(made) {
  const [first] = made.waiting;
  return [
    '/console',
    '/console/inbox',
    ...made.waiting.map(({ approval }) => `/console/inbox/${approval}`),
    `/console/inbox/${first.approval}/remember`,
    `/console/inbox/${made.edit.approval}`,
    `/console/inbox/${made.edit.approval}?view=split`,
    `/console/inbox/${made.denied.approval}`,
    '/console/runs',
    `/console/runs/${made.said}`,
    `/console/runs/${made.wrong}`,
    `/console/runs/${made.edit.run}`,
    `/console/runs/${made.denied.run}`,
    '/console/tools',
    '/console/tools/hostile_tool',
    '/console/audit',
    `/console/audit?about=${made.said}`,
    `/console/audit?about=${made.denied.run}`,
  ];
}

for (const bypassCSP of [false, true]) {
  scene(`hostile text stays text on every page, ${bypassCSP ? 'without' : 'with'} the policy`, { bypassCSP }, async ({ page, made }) => {
    for (const place of pages(made)) {
      await page.goto(place);
      await whole(page);
      assert.equal(await page.evaluate(() => globalThis.__xss), undefined, place);
    }
  });

  scene(`hostile parameters stay text, ${bypassCSP ? 'without' : 'with'} the policy`, { bypassCSP }, async ({ page }) => {
    for (const attack of [...Object.values(ATTACKS), LURKING]) {
      const word = encodeURIComponent(attack);
      const places = ['tools?q', 'runs?tool', 'runs?who', 'runs?state', 'runs?since', 'audit?event', 'audit?actor', 'audit?about', 'audit?until'];
      for (const place of [...places.map((start) => `/console/${start}=${word}`), `/console/tools/${word}`, `/console/runs/${word}`, `/console/inbox/${word}`]) {
        await page.goto(place);
        await whole(page);
      }
    }
  });
}

scene('what hides is shown by its number', async ({ page, made }) => {
  for (const place of [`/console/inbox/${made.edit.approval}`, `/console/runs/${made.said}`, `/console/inbox/${made.denied.approval}`]) {
    await page.goto(place);
    const marks = await page.locator('main span.hid').allInnerTexts();
    const text = await page.locator('main').evaluate((e) => e.textContent);
    for (const [character, number] of Object.entries(HIDDEN)) {
      assert.ok(marks.some((mark) => mark.includes(number)), `${place} shows ${number}`);
      assert.ok(!text.includes(character), `${place} has no bare ${number}`);
    }
  }
});

scene('a question and its options are text, and the answer is the one that was chosen', async ({ hub, page, made }) => {
  await page.goto('/console/inbox');
  const article = item(page, made.question);
  const text = await article.locator('[data-question]').evaluate((e) => e.textContent);
  for (const attack of Object.values(ATTACKS)) assert.ok(text.includes(attack), attack);
  await article.locator('select').first().selectOption({ index: (await article.locator('select option[value=""]').count()) + 1 });
  await follow(page, article.locator('button[data-act=answer]'));
  await page.locator('[role=status][data-said]').waitFor();
  const { items } = await hub.person.must('GET', '/questions');
  assert.deepEqual(items.filter((question) => question.id === made.question), []);
});

scene('a hostile file name is approved as what it is', async ({ hub, page }) => {
  const path = 'a <b>"bold"</b> & name.txt'.replace('/', '');
  const { run, approval } = await hub.agent.asks('file_write', { path, content: `${ATTACKS.script}\n` });
  await page.goto(`/console/inbox/${approval}`);
  const files = await page.locator('.diff section[data-file]').evaluateAll((all) => all.map((e) => e.dataset.file));
  assert.ok(files.length === 1 && files[0].endsWith(path), `${files}`);
  await follow(page, page.locator('button[data-act=approve]'));
  await hub.person.ended(run);
  assert.equal(hub.read(path), `${ATTACKS.script}\n`);
});

scene('a hostile reason of a denial reaches the agent as it was typed', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_write', { path: 'reason.txt', content: 'x\n' });
  await page.goto(`/console/inbox/${approval}`);
  await page.locator('details[data-deny] > summary').click();
  await page.locator('textarea[name=reason]').fill(ATTACKS.closing);
  await follow(page, page.locator('button[data-act=deny]'));
  const { answer } = await hub.agent.ended(run);
  assert.ok(answer.error.message.includes(ATTACKS.closing), answer.error.message);
});

scene('a line of ten megabytes in a diff leaves the page usable', async ({ hub, page }) => {
  const { run, approval } = await hub.agent.asks('file_edit', { path: 'long.txt', old_string: 'begin', new_string: 'start' });
  const answer = await page.goto(`/console/inbox/${approval}`);
  assert.ok((await answer.body()).length < LONG, 'the page does not hold all of it');
  await whole(page);
  await page.goto('/console/inbox');
  await whole(page);
  await follow(page, item(page, approval).locator('button[data-act=approve]'));
  await hub.person.ended(run);
  assert.ok(hub.read('long.txt').startsWith('start <b>'));
});

scene('a line of ten megabytes in the output leaves the page usable', async ({ hub, page }) => {
  const executor = { type: 'host', command: ['sh', 'long.sh'] };
  const description = 'Prints a long line. Use it when a page is tested.';
  const schema = { type: 'object', additionalProperties: false, properties: {} };
  await hub.person.must('POST', '/tools', { name: 'long_line', description, risk: 'exec_low', executor, input_schema: schema });
  const { meta } = await hub.agent.call('long_line', {});
  const answer = await page.goto(`/console/runs/${meta.run_id}`);
  assert.ok((await answer.body()).length < LONG, 'the page does not hold all of it');
  await page.locator('pre[data-output], pre[data-logs]').first().waitFor();
  await whole(page);
});

scene('a refusal that repeats what was sent is text, too', async ({ page, context }) => {
  await page.goto('/console/tools/hostile_tool');
  const csrf = await page.locator('form[data-form=call] input[name=csrf]').inputValue();
  const action = await page.locator('form[data-form=call]').evaluate((e) => e.action);
  const form = { csrf, 'arg.choice': ATTACKS.image, [`arg.${ATTACKS.double}`]: ATTACKS.closing };
  const answer = await context.request.post(action, { form, maxRedirects: 0 });
  const text = await answer.text();
  assert.equal(answer.status(), 422, text);
  for (const attack of [ATTACKS.image, ATTACKS.closing, ATTACKS.script]) assert.ok(!text.includes(attack), attack);
  await page.goto('/console/runs/run_0');
  await alarm(page);
});
