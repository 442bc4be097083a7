// What the tools here share. `index.js` is never a tool itself.
const fs = require('node:fs')
const path = require('node:path')

/**
 * A path inside the project, which is the folder that a call runs in. Links are
 * followed before it is judged, as far as the path exists: one that leads out is
 * refused, and so is a parent of the project.
 */
function inside(given) {
  const root = fs.realpathSync(process.cwd())
  const asked = path.resolve(root, given)
  const real = realest(asked)
  if (real !== root && !real.startsWith(root + path.sep)) {
    throw Object.assign(new Error(`\`${given}\` is outside the project`), {
      type: 'permission',
      hint: 'use a path relative to the project',
    })
  }
  return real
}

function realest(asked) {
  try {
    return fs.realpathSync(asked)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    // A link that leads nowhere would be followed when it is written.
    if (fs.lstatSync(asked, { throwIfNoEntry: false })?.isSymbolicLink()) {
      return path.resolve(path.dirname(asked), fs.readlinkSync(asked))
    }
    return path.join(realest(path.dirname(asked)), path.basename(asked))
  }
}

/** The path as the project sees it. */
const shown = (absolute) => path.relative(fs.realpathSync(process.cwd()), absolute) || '.'

/** A result in the form of MCP. */
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }],
})

module.exports = { inside, shown, text }
