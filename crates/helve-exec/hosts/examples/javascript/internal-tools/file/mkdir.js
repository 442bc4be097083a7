const fs = require('node:fs/promises')
const { inside, shown, text } = require('../index.js')

module.exports = {
  name: 'mkdir',
  description: 'Make a folder in the project. When you need a place for new files.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the folder' },
      recursive: { type: 'boolean', default: true, description: 'Whether to make the folders above it, too' },
    },
    required: ['path'],
  },
  risk: 'write',
  metadata: { type: 'internal', source: 'mkdir.js' },
  handler: async ({ path, recursive = true }) => {
    const folder = inside(path)
    await fs.mkdir(folder, { recursive })
    return text(`made ${shown(folder)}`)
  },
}
