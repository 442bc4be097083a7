const fs = require('node:fs/promises')
const { inside, text } = require('../index.js')

module.exports = {
  name: 'read',
  description: 'Read a text file of the project. When you need to see what a file says before you change it.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path of the file, relative to the project' },
      encoding: { type: 'string', enum: ['utf8', 'latin1', 'base64'], default: 'utf8', description: 'How to read its bytes' },
    },
    required: ['path'],
  },
  risk: 'read',
  metadata: { type: 'internal', source: 'read.js' },
  handler: async ({ path, encoding = 'utf8' }) => text(await fs.readFile(inside(path), encoding)),
}
