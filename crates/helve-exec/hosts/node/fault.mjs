// What a tool throws, put into words.

import util from 'node:util'
import { pathToFileURL } from 'node:url'
import { cut, quote, say } from './wire.mjs'

const { inspect } = util

/** An error that has a kind, which Helve passes on. */
export class CallFault extends Error {
  constructor(message, type, hint) {
    super(message)
    this.type = type
    if (hint) this.hint = hint
  }
}

/** The `error` of a result, as JSON. A hostile object must not get the better of it. */
export function faultJson(thrown, file) {
  let text = '{"message":"it threw something that cannot be looked at","name":null,"stack":null,"line":null}'
  try {
    const stack = withoutHost(stackOf(thrown))
    const { line } = lineIn(stack, file)
    text =
      `{"message":${quote(cut(messageOf(thrown, 0)))},"name":${textOrNull(read(thrown, 'name'))},` +
      `"stack":${textOrNull(stack)},"line":${line ?? 'null'}`
    text += `${field(thrown, 'type')}${field(thrown, 'hint')}}`
  } catch (error) {
    say(`an error could not be described: ${typeof error}`)
  }
  return text
}

function field(thrown, key) {
  const value = read(thrown, key)
  return typeof value === 'string' && value ? `,"${key}":${quote(cut(value))}` : ''
}

const textOrNull = (value) =>
  typeof value === 'string' && value ? quote(cut(value, 16 * 1024)) : 'null'

const isThing = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function'

function read(thrown, key) {
  try {
    return isThing(thrown) ? thrown[key] : undefined
  } catch {
    return undefined
  }
}

function stackOf(thrown) {
  const stack = read(thrown, 'stack')
  const inner = read(thrown, 'cause')
  const more = read(inner, 'stack')
  if (typeof stack !== 'string') return ''
  return typeof more === 'string' ? `${stack}\ncaused by: ${more}` : stack
}

// Where the host called the tool, and what Node did in between, tells nobody anything.
const HOST = import.meta.url.slice(0, import.meta.url.lastIndexOf('/'))

function withoutHost(stack) {
  let kept = ''
  for (let at = 0; at < stack.length; ) {
    const end = stack.indexOf('\n', at)
    const line = stack.slice(at, end < 0 ? stack.length : end)
    const inside = line.includes(HOST) || line.includes('(node:internal/') || line.includes('at node:internal/')
    if (!inside) kept += (kept ? '\n' : '') + line
    at = end < 0 ? stack.length : end + 1
  }
  return kept
}

function messageOf(thrown, depth) {
  if (typeof thrown === 'string') return thrown
  if (!isThing(thrown)) return `it threw ${String(thrown)}`
  const message = read(thrown, 'message')
  if (typeof message !== 'string') return `it threw ${shown(thrown)}`
  const cause = read(thrown, 'cause')
  if (cause === undefined || cause === null || depth >= 5) return message || String(read(thrown, 'name'))
  return `${message} (caused by: ${messageOf(cause, depth + 1)})`
}

function shown(thrown) {
  try {
    return inspect(thrown, { depth: 3 })
  } catch {
    return 'something that cannot be printed'
  }
}

/** The first place in a stack that is in the file. */
export function lineIn(stack, file) {
  if (typeof stack !== 'string' || !file) return { line: null, column: null }
  return placeAfter(stack, file) ?? placeAfter(stack, pathToFileURL(file).href) ?? { line: null, column: null }
}

function placeAfter(stack, shown) {
  for (let at = stack.indexOf(shown); at >= 0; at = stack.indexOf(shown, at + 1)) {
    const place = /^:(\d+)(?::(\d+))?/.exec(stack.slice(at + shown.length))
    if (place) return { line: Number(place[1]), column: place[2] ? Number(place[2]) : null }
  }
  return null
}
