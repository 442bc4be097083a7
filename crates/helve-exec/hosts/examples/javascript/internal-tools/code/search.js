const fs = require('node:fs/promises')
const path = require('node:path')
const { inside, shown, text } = require('../index.js')

const SKIPPED = new Set(['.git', 'node_modules', 'target'])
const LARGEST = 1024 * 1024

async function* filesOf(folder) {
  for (const entry of await fs.readdir(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name)
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* filesOf(full)
    else if (entry.isFile()) yield full
  }
}

module.exports = {
  name: 'search',
  description: 'Search the text of the project for a word or a regular expression. When you know what it says but not where.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to look for' },
      path: { type: 'string', default: '.', description: 'The folder to look in' },
      regex: { type: 'boolean', default: false, description: 'Whether the query is a regular expression' },
      max_results: { type: 'integer', default: 100, minimum: 1, description: 'At most so many lines' },
    },
    required: ['query'],
  },
  risk: 'read',
  metadata: { type: 'internal', source: 'search.js' },
  handler: async ({ query, path: folder = '.', regex = false, max_results: most = 100 }, ctx) => {
    const pattern = regex ? new RegExp(query) : { test: (line) => line.includes(query) }
    const found = []
    let looked = 0
    for await (const file of filesOf(inside(folder))) {
      ctx.progress(++looked, null, shown(file))
      if ((await fs.stat(file)).size > LARGEST) continue
      const lines = (await fs.readFile(file, 'utf8')).split('\n')
      for (let i = 0; i < lines.length && found.length < most; i++) {
        if (pattern.test(lines[i])) found.push({ file: shown(file), line: i + 1, text: lines[i].slice(0, 300) })
      }
      if (found.length >= most) break
    }
    return text(found)
  },
}
