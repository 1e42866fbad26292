import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { type Queryable, sql } from './pool.ts'

/** The oldest major version of Postgres that has everything that statements use. */
export const OLDEST_POSTGRES = 16

/** An SQL file. `replaces`: prefix of the names of its earlier versions. */
export type Migration = { name: string; text: string; replaces?: string }

/**
 * The migrations that this code needs, in order. A file of migrations/ is applied once and never changes again. The
 * other SQL files drop and create their functions, and all of them are applied again whenever one has changed: their
 * hash is the name.
 */
export async function listMigrations(): Promise<Migration[]> {
  const functions = (await readAll('**/*.sql', ['migrations/**'])).map(file => file.text).join('\n')
  const hash = createHash('sha256').update(functions).digest('hex').slice(0, 12)
  // The files refer to each other's types in any order.
  const text = `SET check_function_bodies = off;\n${functions}`
  return [...(await readAll('migrations/*.sql')), { name: `functions ${hash}`, text, replaces: 'functions ' }]
}

/** Reads files in any folder, sorted by name, so that `_types.sql` is the first. */
async function readAll(pattern: string, exclude: string[] = []): Promise<Migration[]> {
  const paths = await Array.fromAsync(glob(pattern, { cwd: import.meta.dirname, exclude }))
  const files = paths.map(path => ({ path, name: basename(path) })).sort((a, b) => (a.name < b.name ? -1 : 1))
  return Promise.all(
    files.map(async ({ path, name }) => ({ name, text: await readFile(join(import.meta.dirname, path), 'utf8') })),
  )
}

/**
 * Prefix of the name of the functions that the current ones have replaced: processes of the previous release still run,
 * and may be started again, until they are replaced as well.
 */
export const EARLIER = 'earlier '

const needed = listMigrations()
needed.catch(() => {}) // callers get the error

/** Returns the names of migrations that the database does not have yet; all of them if it is empty. */
export async function listPendingMigrations(db: Queryable): Promise<string[]> {
  const names = (await needed).map(migration => migration.name)
  const Table = z.object({ exists: z.boolean() })
  const { exists } = await db.one(sql.type(Table)`SELECT to_regclass('migrations') IS NOT NULL AS exists`)
  if (!exists) return names
  const applied = await db.any(sql.type(z.object({ name: z.string() }))`SELECT name FROM migrations`)
  const known = new Set(applied.map(row => row.name))
  return names.filter(name => !known.has(name) && !known.has(`${EARLIER}${name}`))
}

const AppliedMigration = z.object({ name: z.string(), applied_at: z.date() })
export type AppliedMigration = z.infer<typeof AppliedMigration>

/** Returns the migration with the highest number that the database has. */
export async function findNewestMigration(db: Queryable): Promise<AppliedMigration | null> {
  return db.maybeOne(sql.type(AppliedMigration)`
    SELECT name, applied_at FROM migrations WHERE name ~ '^[0-9]' ORDER BY name DESC LIMIT 1
  `)
}
