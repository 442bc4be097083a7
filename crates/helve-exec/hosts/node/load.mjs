// From a file to its tools.
//
// A `.js` file is an ES module or not, and only sometimes says which. It is
// tried as the older kind first, as a program that requires it would; an ES
// module fails that before any of it has run.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { encode, matches, quote, NotJson, MAX_MESSAGE } from './wire.mjs'
import { lineIn } from './fault.mjs'

const require = createRequire(import.meta.url)
const { isArray } = Array
const { parse } = JSON
const { keys, create } = Object
// A file that was loaded before may have changed what a `Map` or a list does.
const loaded = create(null)

/** The tools of a file by name, or what is wrong with it: `{ tools, error }`. */
export async function load(file) {
  loaded[file] ??= await read(file)
  return loaded[file]
}

async function read(file) {
  const tools = create(null)
  try {
    const found = toolsOf(await evaluate(file))
    for (let i = 0; i < found.length; i++) {
      const described = describe(found[i])
      const { name } = found[i]
      if (tools[name]) throw new Unfit(`it has two tools named \`${name}\``)
      tools[name] = { tool: found[i], described }
    }
    return { tools, error: null }
  } catch (error) {
    return { tools: create(null), error: { ...wordsFor(error, file), cause: error } }
  }
}

/** A file that was loaded, but has no tool that could be run. */
class Unfit extends Error {}

// ----- running the file -----------------------------------------------------

const ES_MODULE = /^(Cannot use import statement|Unexpected token 'export'|Cannot use 'import\.meta'|await is only valid)/

async function evaluate(file) {
  const url = pathToFileURL(file).href
  const kind = kindOf(file)
  if (kind === 'module') return import(url)
  try {
    return require(file)
  } catch (error) {
    const asked =
      error?.code === 'ERR_REQUIRE_ESM' ||
      error?.code === 'ERR_REQUIRE_ASYNC_MODULE' ||
      (error instanceof SyntaxError && matches(ES_MODULE, error.message))
    if (kind === 'commonjs' || !asked) throw error
    tellOfModules()
    return import(url)
  }
}

/** What the name of a file, or the `package.json` above it, says about it. */
function kindOf(file) {
  if (file.endsWith('.mjs')) return 'module'
  if (file.endsWith('.cjs')) return 'commonjs'
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    try {
      const { type } = parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
      return type === 'module' || type === 'commonjs' ? type : null
    } catch {
      // Not here, or not JSON: then it says nothing.
    }
    if (folder === path.dirname(folder)) return null
  }
}

let told = false

/** Before Node looked at the syntax itself, it has to be told what to look for. */
function tellOfModules() {
  const version = process.versions.node
  const [major, minor] = version.split('.').map(Number)
  const looks = major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19)
  if (told || looks) return
  if (!module.register) {
    throw new Unfit(
      `it is an ES module, which Node ${version} cannot see; name it \`.mjs\`, ` +
        'or put `"type": "module"` into `package.json`',
    )
  }
  told = true
  const hook = `
    import fs from 'node:fs'
    export async function resolve(specifier, context, next) {
      const found = await next(specifier, context)
      const undecided = found.format === 'commonjs' && found.url.endsWith('.js')
      if (!undecided || found.url.includes('/node_modules/')) return found
      const source = fs.readFileSync(new URL(found.url), 'utf8')
      const module = /^\\s*(import\\b[^(]|export\\b)|import\\.meta/m.test(source)
      return module ? { ...found, format: 'module' } : found
    }`
  module.register(`data:text/javascript,${encodeURIComponent(hook)}`)
}

// ----- finding the tools ----------------------------------------------------

const isObject = (value) => typeof value === 'object' && value !== null
const isTool = (value) => isObject(value) && ('handler' in value || typeof value.name === 'string')

function toolsOf(exported) {
  const found = []
  const add = (value, depth) => {
    if (isArray(value)) for (let i = 0; i < value.length; i++) add(value[i], depth)
    else if (isTool(value)) addOnce(found, value)
    else if (isObject(value) && depth < 2) {
      for (const key in EXPORTED) add(value[key], depth + 1)
    }
  }
  add(exported, 0)
  // None is no fault: a file may be there for its neighbours.
  return found
}

const EXPORTED = { __proto__: null, default: 1, tool: 1, tools: 1 }

// One tool may be exported under several names.
function addOnce(found, tool) {
  for (let i = 0; i < found.length; i++) if (found[i] === tool) return
  found[found.length] = tool
}

/** What a tool says of itself, as JSON: every property that is data. */
function describe(tool) {
  const name = tool.name
  if (typeof name !== 'string' || name === '') throw new Unfit('its tool has no `name`')
  if (typeof tool.handler !== 'function') throw new Unfit(`\`${name}\` has no \`handler\``)
  let out = ''
  const names = keys(tool)
  for (let i = 0; i < names.length; i++) {
    const key = names[i]
    if (key === 'handler') continue
    const value = key === 'inputSchema' ? schemaOf(tool[key], name) : tool[key]
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue
    const text = encodeProperty(value, key, name)
    if (text !== undefined) out += `${out ? ',' : ''}${quote(key)}:${text}`
  }
  return `{${out}}`
}

const NEEDED = { __proto__: null, name: 1, description: 1, inputSchema: 1, metadata: 1 }

function encodeProperty(value, key, name) {
  let why
  try {
    const text = encode(value)
    if (text.length < MAX_MESSAGE / 8) return text
    why = 'is too long'
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    why = `is not JSON: ${error.message.replace('its result', 'it')}`
  }
  // An author may keep things of his own beside what describes the tool.
  if (!(key in NEEDED)) return undefined
  throw new Unfit(`\`${key}\` of \`${name}\` ${why}`)
}

function schemaOf(schema, name) {
  if (!isObject(schema)) return schema
  if (typeof schema.toJSONSchema === 'function') return schema.toJSONSchema()
  if ('_def' in schema || '_zod' in schema || '~standard' in schema) {
    throw new Unfit(
      `\`inputSchema\` of \`${name}\` is a schema of a library, not JSON Schema; ` +
        'convert it where it is written, as with `z.toJSONSchema(schema)`',
    )
  }
  return schema
}

// ----- where a file is wrong ------------------------------------------------

/** To look for the place must not cost the words. */
function wordsFor(error, file) {
  try {
    return placeOf(error, file)
  } catch {
    return { message: `${error?.name}: ${error?.message}`, line: null, column: null }
  }
}

function placeOf(error, file) {
  if (error instanceof Unfit) return { message: error.message, line: null, column: null }
  let message
  try {
    message = error instanceof Error ? `${error.name}: ${error.message}` : `it threw ${String(error)}`
  } catch {
    message = 'it threw something that cannot be printed'
  }
  // "Require stack:" and the like follow; the first line says it.
  const place = headOf(error, file)
  const better =
    (error instanceof SyntaxError && !file.endsWith('.cjs') && syntaxOf(file, message, place)) ||
    (place.line === null && importOf(error, file)) ||
    place
  return { message: message.split('\n')[0], ...better }
}

/**
 * Node does not say where the syntax of an ES module is wrong to whoever imports
 * it, and takes a broken one without a sign for the older kind. Asked to check
 * it as a module, it does say.
 */
function syntaxOf(file, message, place) {
  if (place.line !== null && !ES_MODULE.test(message.replace('SyntaxError: ', ''))) return null
  const checked = spawnSync(process.execPath, ['--input-type=module', '--check', '-'], {
    input: fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, ''),
    encoding: 'utf8',
    timeout: 10_000,
  })
  const head = /^\[stdin\]:(\d+)\n.*\n( *)\^/.exec(checked.stderr ?? '')
  const said = /^SyntaxError: .*$/m.exec(checked.stderr ?? '')
  return head && said && { message: said[0], line: Number(head[1]), column: head[2].length + 1 }
}

/** A syntax error begins its stack with the file, the line, and a mark below it. */
function headOf(error, file) {
  const stack = typeof error?.stack === 'string' ? error.stack : ''
  const [first, , marks] = stack.split('\n')
  const head = /^(.*):(\d+)$/.exec(first)
  if (head && samePath(head[1], file)) {
    const column = marks === undefined ? -1 : marks.indexOf('^')
    return { line: Number(head[2]), column: column < 0 ? null : column + 1 }
  }
  return lineIn(stack, file)
}

function samePath(shown, file) {
  try {
    return (shown.startsWith('file:') ? fileURLToPath(shown) : shown) === file
  } catch {
    return false
  }
}

/** Where a file imports what could not be found. */
function importOf(error, file) {
  const nowhere = { line: null, column: null }
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(error?.message ?? '')
  if (!missing) return nowhere
  const source = fs.readFileSync(file, 'utf8')
  for (const found of source.matchAll(/(?:from|import)\s*\(?\s*(['"])([^'"\n]+)\1/g)) {
    const at = path.resolve(path.dirname(file), found[2])
    if (found[2] !== missing[1] && at !== missing[1]) continue
    const before = source.slice(0, found.index).split('\n')
    return { line: before.length, column: before.at(-1).length + 1 }
  }
  return nowhere
}
