import t from 'tap'
import { v7 as uuid } from 'uuid'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { createAcceptEmail } from '#flows/sending/together/accept_together.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const { pg } = world.pool

function draft(subject: string, key: string | null = uuid()): Draft {
  const email = CompleteEmail.parse({ from: `ann@${account.domain}`, to: ['bob@b.com'], subject })
  const request = key === null ? null : { route: '/emails', key, fingerprint: '00' }
  return toDraft({ account_id: account.id, domain_id: null }, email, request, world.config.SIMULATOR_DOMAIN)
}

/** Counts what is stored for these drafts: emails and deliveries by id, keys, and jobs that name one of them. */
async function stored(drafts: Draft[]) {
  const { rows } = await pg.query(
    `SELECT (SELECT count(*) FROM emails WHERE id = ANY ($1)) AS emails,
      (SELECT count(*) FROM deliveries WHERE email_id = ANY ($1)) AS deliveries,
      (SELECT count(*) FROM idempotency_keys WHERE key = ANY ($2)) AS keys,
      (SELECT count(*) FROM graphile_worker._private_jobs WHERE payload::text LIKE ANY ($3)) AS jobs`,
    [drafts.map(({ id }) => id), drafts.map(({ key }) => key), drafts.map(({ id }) => `%${id}%`)],
  )
  return rows[0]
}

/** Makes INSERTs into emails fail with the next state each time. A sequence counts them, which no rollback undoes. */
async function failByTurns(states: string[]): Promise<{ tries(): Promise<number> }> {
  await pg.query(`
    DROP SEQUENCE IF EXISTS tries;
    CREATE SEQUENCE tries;
    CREATE OR REPLACE FUNCTION fail_by_turns() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      state text := ('{${states.join()}}'::text[])[nextval('tries')];
    BEGIN
      IF state IS NOT NULL THEN
        RAISE 'by turns' USING ERRCODE = state;
      END IF;
      RETURN NULL;
    END $$;
    CREATE OR REPLACE TRIGGER fail_by_turns AFTER INSERT ON emails EXECUTE FUNCTION fail_by_turns()`)
  return { tries: async () => (await pg.query('SELECT last_value FROM tries')).rows[0].last_value }
}

const unavailable = { statusCode: 503, name: 'sending_service_unavailable', headers: { 'retry-after': '5' } }

for (const state of ['40001', '40P01']) {
  t.test(`a statement that fails with ${state} is retried as a whole`, async t => {
    const { tries } = await failByTurns([state, state])
    const drafts = [draft('one'), draft('two')]
    const accept = createAcceptEmail(world.pool)
    t.match(
      await Promise.all(drafts.map(accept)),
      drafts.map(({ id }) => ({ id, replayed: false })),
    )
    t.match(await stored(drafts), { emails: 2, deliveries: 2, keys: 2, jobs: 1 })
    t.equal(await tries(), 3)
  })

  t.test(`the fourth ${state} responds 503 and stores nothing`, async t => {
    const { tries } = await failByTurns([state, state, state, state])
    const drafts = [draft('one'), draft('two')]
    const accept = createAcceptEmail(world.pool)
    for (const outcome of await Promise.allSettled(drafts.map(accept))) t.match(outcome, { reason: unavailable })
    t.match(await stored(drafts), { emails: 0, deliveries: 0, keys: 0, jobs: 0 })
    t.equal(await tries(), 4)
    shows(t, await Promise.all(drafts.map(accept)), [{ replayed: false }, { replayed: false }])
  })
}

t.test('one email that Postgres refuses fails alone among fifty', async t => {
  await failByTurns([])
  await pg.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'poison' USING ERRCODE = '22000'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON emails FOR EACH ROW WHEN (NEW.subject = 'poison') EXECUTE FUNCTION refuse()`)
  const fine = Array.from({ length: 49 }, (_, i) => draft(`fine ${i}`))
  const poison = draft('poison')
  const drafts = fine.toSpliced(17, 0, poison)
  const accept = createAcceptEmail(world.pool)
  const outcomes = await Promise.allSettled(drafts.map(accept))

  outcomes.forEach((outcome, at) => {
    if (drafts[at] === poison) t.match(outcome, { reason: { code: '22000' } })
    else t.match(outcome, { value: { id: drafts[at]?.id, replayed: false } })
  })
  t.match(await stored(fine), { emails: 49, deliveries: 49, keys: 49 })
  t.match(await stored([poison]), { emails: 0, deliveries: 0, keys: 0, jobs: 0 })
})

t.test('emails stored before a later part failed are reported as stored', async t => {
  await failByTurns(['22000', 'NULL', '53100'])
  const drafts = [draft('one'), draft('two'), draft('three'), draft('four')]
  const outcomes = await Promise.allSettled(drafts.map(createAcceptEmail(world.pool)))
  const [one, two, ...others] = outcomes
  shows(t, [one, two], [{ value: { id: drafts[0]?.id } }, { value: { id: drafts[1]?.id } }])
  shows(t, others, [{ reason: unavailable }, { reason: unavailable }])
  t.match(await stored(drafts), { emails: 2, deliveries: 2, keys: 2 })
})
