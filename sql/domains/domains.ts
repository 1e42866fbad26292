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

/**
 * Optional fields default to those of their columns. `is_trusted`: the operator vouches for it; DNS is never checked.
 */
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

/**
 * Locks a domain and its keys against changes until the transaction ends; mail does not wait for that. Null if it does
 * not exist.
 */
export async function lockDomain(tx: Tx, account_id: string, id: string): Promise<LockedDomain | null> {
  return tx.maybeOne(sql.type(LockedDomain)`
    SELECT ${listedColumns}, is_trusted FROM domains WHERE account_id = ${account_id} AND id = ${id} FOR NO KEY UPDATE
  `)
}

/** Locks a domain against deletion until the transaction ends; returns false if it does not exist. */
export async function blockDomainDeletion(tx: Tx, account_id: string, id: string): Promise<boolean> {
  const count = await tx.run(sql.unsafe`
    SELECT FROM domains WHERE account_id = ${account_id} AND id = ${id} FOR KEY SHARE
  `)
  return count > 0
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

/** Updates the settings of a domain. A new return path is unverified until DNS is checked. */
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
 * Starts the verification of a domain, which takes at most 72 hours. If its job is lost, DNS is checked a minute later.
 * The domain is no longer trusted.
 */
export async function setDomainPending(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`
    UPDATE domains SET status = 'pending', window_since = now(), check_at = now() + interval '1 minute',
      is_trusted = false, updated_at = now()
    WHERE account_id = ${account_id} AND id = ${id}
  `)
}

/**
 * Deletes a domain with its keys and checks of records; mail that it sent is kept. Returns null if it does not exist or
 * is paused.
 */
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

/** Sets the transport of a domain, for the operator; null: MAIL_TRANSPORT. */
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
