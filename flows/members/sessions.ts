import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { memberAddress } from '#lib/members/new_member.ts'
import { hashPassword, isPassword } from '#lib/members/password.ts'
import { generateToken, hashToken } from '#lib/members/secret_token.ts'
import { networkOf } from '#lib/net/client_address.ts'
import type { UseCounter } from '#sql/accounts/rate_limits.ts'
import { findLogin, listOwnAccounts, setPassword } from '#sql/members/members.ts'
import { deleteSessions, findSession, hasSession, insertSession, type Session } from '#sql/members/sessions.ts'
import { checkInTurn, limitTries } from './tries.ts'

/** The client from which a member signs in. */
export type Client = { client_address: string; user_agent: string }

type Services = Pick<Foundation, 'pool' | 'secrets'>

const MAX_USER_AGENT = 500

const WRONG = 'The address or the password is wrong.'

/**
 * Checks an address and a password; returns the token of a new session.
 *
 * @throws {ApiError} `validation_error` if either is wrong, `rate_limit_exceeded` after five failures within a minute
 */
export async function signIn(
  services: Services & { countTries: UseCounter },
  given: { email: string; password: string },
  client: Client,
): Promise<string> {
  const email = memberAddress(given.email) ?? given.email.trim().toLowerCase()
  return startFound(services, client, email, async () => {
    const member = await findLogin(services.pool, email)
    const isRight = await checkInTurn(networkOf(client.client_address), () =>
      isPassword(given.password, member?.password ?? null),
    )
    if (!member || !isRight) throw new ApiError('validation_error', WRONG)
    return { member_id: member.id, password: member.password }
  })
}

/** A member, and the hash of the password that was checked; null if none was. */
type Found = { member_id: string; password: string | null }

/**
 * Starts a session of the member that `find` finds. A try counts as failed until it has succeeded, so that
 * no more than five can run at once. `name`: whose tries from the network of the client are counted.
 *
 * @throws {ApiError} `rate_limit_exceeded` after five failures within a minute; the errors of `find`
 */
export async function startFound(
  services: Services & { countTries: UseCounter },
  client: Client,
  name: string,
  find: () => Promise<Found>,
): Promise<string> {
  const key = `${networkOf(client.client_address)} ${name}`.slice(0, 400)
  const found = await limitTries(services.countTries, key, find)
  return startSession(services, found, client)
}

/**
 * Returns the token of the session, for the cookie.
 *
 * @throws {ApiError} if the member no longer belongs to an account, or has another password by now
 */
export async function startSession(
  { pool, secrets }: Services,
  { member_id, password }: Found,
  client: Client,
): Promise<string> {
  const [account] = await listOwnAccounts(pool, member_id)
  if (!account) throw new ApiError('validation_error', 'You belong to no account any more.')
  const token = generateToken()
  const { client_address, user_agent } = client
  const isStarted = await insertSession(pool, {
    ...{ hash: hashToken('session', token, secrets.pepper), id: newId(), member_id, password, account_id: account.id },
    client_address: client_address || null,
    user_agent: user_agent.slice(0, MAX_USER_AGENT),
  })
  if (!isStarted) throw new ApiError('validation_error', WRONG)
  return token
}

export type FindSession = (token: string) => Promise<Session | null>

export function createFindSession({ pool, secrets }: Services): FindSession {
  return token => findSession(pool, hashToken('session', token, secrets.pepper))
}

/**
 * Changes the password of a member, and ends the member's other sessions.
 *
 * @throws {ApiError} `validation_error`; `rate_limit_exceeded` after five wrong old passwords within a minute
 */
export async function changePassword(
  { pool, countTries }: Pick<Services, 'pool'> & { countTries: UseCounter },
  session: Session,
  given: Passwords,
): Promise<void> {
  // With a stolen session, somebody may guess the password, perhaps to sign in elsewhere.
  await limitTries(countTries, `password of ${session.member_id}`, async () => {
    const member = await findLogin(pool, session.email)
    if (member?.password && !(await isPassword(given.old_password, member.password))) {
      throw wrongOldPassword()
    }
  })
  const password = await hashPassword(given.new_password)
  await pool.transaction(async tx => {
    await setPassword(tx, session.member_id, password)
    // A change that was waited for, such as by a reset link, ended the session: its password stays.
    if (!(await hasSession(tx, session.session_id))) throw wrongOldPassword()
    await deleteSessions(tx, session.member_id, session.session_id)
  })
}

const wrongOldPassword = () => new ApiError('validation_error', 'The old password is wrong.')

type Passwords = { old_password: string; new_password: string }
