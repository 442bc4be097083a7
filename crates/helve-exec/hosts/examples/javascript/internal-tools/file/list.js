const fs = require('node:fs/promises')
const path = require('node:path')
const { inside, shown, text } = require('../index.js')

const MOST = 5000

async function entriesOf(folder, recursive, found) {
  const entries = await fs.readdir(folder, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (found.length >= MOST) return found
    const full = path.join(folder, entry.name)
    const { size, mtime } = await fs.lstat(full)
    const type = entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'file'
    found.push({ name: entry.name, path: shown(full), type, size, modified: mtime })
    if (recursive && entry.isDirectory()) await entriesOf(full, recursive, found)
  }
  return found
}

module.exports = {
  name: 'list',
  description: 'List what a folder of the project holds, with type, size and time of change. When you need to find your way around.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', default: '.', description: 'Path of the folder; the project itself if left out' },
      recursive: { type: 'boolean', default: false, description: 'Whether to list the folders inside, too' },
    },
  },
  risk: 'read',
  metadata: { type: 'internal', source: 'list.js' },
  handler: async (args) => text(await entriesOf(inside(args.path ?? '.'), args.recursive === true, [])),
}
