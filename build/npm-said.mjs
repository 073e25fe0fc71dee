// Judges what npm answered: prints "clean", "found", "away" or "broken", and a sentence. npm ends with 1 for whatever is
// not clean, so only what it printed tells a finding from a registry that cannot be asked, and both from a crash.
// Usage: node build/npm-said.mjs audit|signatures|view EXIT-CODE FILE
import { readFileSync } from 'node:fs'

const [kind, exit, file] = process.argv.slice(2)
const network = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENETDOWN)\b/
const unserved = new Set([401, 403, 404, 405, 407, 408, 429, 500, 501, 502, 503, 504])

function line(text) {
  return String(text).split('\n')[0].slice(0, 300)
}

function failure(said) {
  const text = line(said?.error?.summary || said?.message || '')
  if (network.test(`${said?.error?.code ?? ''} ${text}`)) return ['away', text]
  if (kind !== 'view' && unserved.has(said?.statusCode)) return ['away', text]
  // A registry that signs nothing.
  if (kind === 'signatures' && /installed from a supported registry/.test(text)) return ['away', text]
  return ['broken', text || 'it printed nothing that says why']
}

const judges = {
  audit(said) {
    const total = said?.metadata?.vulnerabilities?.total
    if (said?.auditReportVersion !== 2 || typeof total !== 'number') return failure(said)
    if (total === 0) return exit === '0' ? ['clean', 'no known vulnerability'] : ['broken', 'it found nothing and failed']
    const names = Object.values(said.vulnerabilities ?? {}).map((v) => `${v.name} (${v.severity})`)
    return ['found', `${total} vulnerable: ${names.join(', ')}`]
  },
  signatures(said) {
    if (!Array.isArray(said?.invalid) || !Array.isArray(said?.missing)) return failure(said)
    const bad = [...said.invalid.map((p) => `${p.name}@${p.version} (invalid)`), ...said.missing.map((p) => `${p.name}@${p.version} (missing)`)]
    if (bad.length > 0) return ['found', `signatures: ${bad.join(', ')}`]
    return exit === '0' ? ['clean', 'every signature is right'] : ['broken', 'it found nothing and failed']
  },
  // "npm view NAME@VERSION name deprecated" prints the name alone for what is not deprecated.
  view(said) {
    if (said?.error || exit !== '0') return failure(said)
    if (typeof said === 'string') return ['clean', said]
    if (said?.name && said.deprecated) return ['found', line(said.deprecated)]
    return said?.name ? ['clean', said.name] : ['broken', 'it printed no name']
  },
}

let said
try {
  said = JSON.parse(readFileSync(file, 'utf8'))
} catch {
  said = undefined
}
console.log(judges[kind](said).join(' '))
