// Every link leads somewhere, and every page stands by itself.

import assert from 'node:assert/strict';

import { stage, whole } from './browser.mjs';
import { PROJECT, furnish } from './furnished.mjs';

const scene = stage({
  hub: { files: PROJECT },
  prepare: async (hub) => {
    const made = await furnish(hub);
    await hub.person.must('POST', `/runs/${made.written.run}/undo`, {});
    return made;
  },
});

/** What is only another view of a page that was seen: how many of a kind are enough. */
const ENOUGH = 6;

scene('all that is linked from the overview, and from there, is there', { acceptDownloads: false }, async ({ hub, page, context }) => {
  const known = new Set(['/console']);
  const kinds = new Map();
  const next = ['/console'];
  while (next.length) {
    const place = next.shift();
    const answer = await page.goto(place);
    assert.equal(answer.status(), 200, place);
    await whole(page);
    const links = await page.locator('a[href]').evaluateAll((all) => all.map((e) => e.href));
    for (const link of links) {
      const { origin, pathname, search } = new URL(link);
      assert.equal(origin, hub.url, `${place} leads to ${link}`);
      const kind = pathname.replace(/(run_|apr_)[0-9a-f]+/, '$1').replace(/audit\/\d+/, 'audit/') + search.replace(/=[^&]*/g, '');
      const seen = kinds.get(kind) ?? 0;
      if (known.has(pathname + search) || seen >= ENOUGH) continue;
      known.add(pathname + search);
      kinds.set(kind, seen + 1);
      if (pathname.endsWith('/export') || pathname.includes('/artifacts/')) {
        const file = await context.request.get(link);
        assert.equal(file.status(), 200, link);
      } else {
        next.push(pathname + search);
      }
    }
  }
  for (const start of ['/console/inbox', '/console/runs', '/console/tools', '/console/servers', '/console/audit']) {
    assert.ok(known.has(start), `${start} is linked`);
  }
});
