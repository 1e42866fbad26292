import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

/** A file of SQL. `replaces` is the beginning of the names of its earlier versions. */
export type Migration = { name: string; text: string; replaces?: string }

/**
 * What this code needs, in order. A file of migrations/ is applied once and never changes again. The files of functions/
 * drop and create what they hold, and are applied again, all together, whenever one has changed: their hash is the name.
 */
export async function listMigrations(): Promise<Migration[]> {
  const functions = (await readAll('functions/')).map(file => file.text).join('\n')
  const hash = createHash('sha256').update(functions).digest('hex').slice(0, 12)
  // They refer to each other's types, whichever comes first.
  const text = `SET check_function_bodies = off;\n${functions}`
  return [...(await readAll('migrations/')), { name: `functions ${hash}`, text, replaces: 'functions ' }]
}

async function readAll(directory: string): Promise<Migration[]> {
  const url = new URL(directory, import.meta.url)
  const names = (await readdir(url)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(names.map(async name => ({ name, text: await readFile(new URL(name, url), 'utf8') })))
}

const needed = listMigrations()
needed.catch(() => {}) // whoever asks is told

/** Names of those the database does not have yet: of all while it is empty. */
export async function listPendingMigrations(db: Queryable): Promise<string[]> {
  const names = (await needed).map(migration => migration.name)
  const Table = z.object({ exists: z.boolean() })
  const { exists } = await db.one(sql.type(Table)`SELECT to_regclass('migrations') IS NOT NULL AS exists`)
  if (!exists) return names
  const applied = await db.any(sql.type(z.object({ name: z.string() }))`SELECT name FROM migrations`)
  const known = new Set(applied.map(row => row.name))
  return names.filter(name => !known.has(name))
}
