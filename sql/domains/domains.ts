import type { DomainStatus } from '#lib/domains/domain_status.ts'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { Domain, ListedDomain, LockedDomain, listedColumns } from './columns.ts'

export async function listDomains(db: Queryable, account_id: string, position: Position): Promise<Page<ListedDomain>> {
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(ListedDomain)`
      SELECT ${listedColumns} FROM domains WHERE account_id = ${account_id} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

export async function findDomain(db: Queryable, account_id: string, id: string): Promise<ListedDomain | null> {
  return db.maybeOne(sql.type(ListedDomain)`
    SELECT ${listedColumns} FROM domains WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** What may be left out has the default of its column. `is_trusted`: the operator vouches for it, DNS is never asked. */
export type NewDomainRow = Domain & {
  is_trusted?: boolean
  region?: string | undefined
  sending?: boolean | undefined
  receiving?: boolean | undefined
  open_tracking?: boolean | undefined
  click_tracking?: boolean | undefined
  tracking_subdomain?: string | null | undefined
  tls?: ListedDomain['tls'] | undefined
  custom_return_path?: string | undefined
}

export async function insertDomain(tx: Tx, domain: NewDomainRow): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO domains (account_id, id, name, status, verified_at, is_trusted, region, sending, receiving,
      open_tracking, click_tracking, tracking_subdomain, tls, custom_return_path)
    VALUES (${domain.account_id}, ${domain.id}, ${domain.name}, ${domain.status},
      CASE WHEN ${domain.status} = 'verified' THEN now() END, ${domain.is_trusted ?? false},
      ${domain.region ?? 'us-east-1'}, ${domain.sending ?? true}, ${domain.receiving ?? false},
      ${domain.open_tracking ?? false}, ${domain.click_tracking ?? false}, ${domain.tracking_subdomain ?? null},
      ${domain.tls ?? 'opportunistic'}, ${domain.custom_return_path ?? 'send'})
  `)
}

export async function findDomainByName(db: Queryable, account_id: string, name: string): Promise<Domain | null> {
  return db.maybeOne(sql.type(Domain)`
    SELECT id, account_id, name, status FROM domains WHERE account_id = ${account_id} AND name = ${name}
  `)
}

/** Nobody else changes it or its keys until this transaction ends; mail does not wait for that. Null: there is none. */
export async function lockDomain(tx: Tx, account_id: string, id: string): Promise<LockedDomain | null> {
  return tx.maybeOne(sql.type(LockedDomain)`
    SELECT ${listedColumns}, is_trusted FROM domains WHERE account_id = ${account_id} AND id = ${id} FOR NO KEY UPDATE
  `)
}

export type DomainSettings = Pick<
  ListedDomain,
  | 'capabilities'
  | 'open_tracking'
  | 'click_tracking'
  | 'tracking_subdomain'
  | 'tls'
  | 'custom_return_path'
  | 'brand'
  | 'postal_address'
>

/** Another return path is not verified before DNS was asked for it. */
export async function updateDomainSettings(
  tx: Tx,
  account_id: string,
  id: string,
  settings: DomainSettings,
): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domains SET sending = ${settings.capabilities.sending === 'enabled'},
      receiving = ${settings.capabilities.receiving === 'enabled'}, open_tracking = ${settings.open_tracking},
      click_tracking = ${settings.click_tracking}, tracking_subdomain = ${settings.tracking_subdomain},
      tls = ${settings.tls}, custom_return_path = ${settings.custom_return_path},
      brand_name = ${settings.brand.name}, brand_color = ${settings.brand.color}, brand_logo_url = ${settings.brand.logo_url},
      postal_address = ${settings.postal_address},
      return_path_verified = return_path_verified AND custom_return_path = ${settings.custom_return_path},
      updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/**
 * It is being verified from now on, for 72 hours; should the job be lost that goes with it, DNS is asked a minute later.
 * Whoever vouched for it before does so no more.
 */
export async function setDomainPending(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domains SET status = 'pending', window_since = now(), check_at = now() + interval '1 minute',
      is_trusted = false, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** Its keys go with it, and what is known of its records; mail that it sent stays. Null: there is none that is not paused. */
export async function deleteDomain(tx: Tx, account_id: string, id: string): Promise<Domain | null> {
  return tx.maybeOne(sql.type(Domain)`
    DELETE FROM domains WHERE account_id = ${account_id} AND id = ${id} AND paused_at IS NULL
    RETURNING id, account_id, name, status
  `)
}

export async function setDomainStatus(tx: Tx, account_id: string, id: string, status: DomainStatus): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domains SET status = ${status}, updated_at = now(),
      verified_at = CASE WHEN ${status} = 'verified' THEN coalesce(verified_at, now()) ELSE verified_at END
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/** How its mail leaves; null: as MAIL_TRANSPORT says. For the operator. */
export async function setDomainTransport(
  db: Queryable,
  { account_id, id }: Pick<Domain, 'account_id' | 'id'>,
  transport: 'capture' | 'relay' | 'direct' | null,
): Promise<void> {
  await db.run(sql.unsafe`
    UPDATE domains SET transport = ${transport}, transport_fault_at = NULL, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}
