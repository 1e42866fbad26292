import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { Foundation } from '#flows/process/run_process.ts'
import { ApiError } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { CHALLENGE_SECONDS, createChallenge, isChallenge } from '#lib/members/challenge.ts'
import { type CountUse, createCountUse, type UseCounter } from '#sql/accounts/rate_limits.ts'
import { findPasskey, insertPasskey, listPasskeys, noteUseOfPasskey } from '#sql/members/passkeys.ts'
import type { Session } from '#sql/members/sessions.ts'
import { type Client, startFound } from './sessions.ts'

type Services = Pick<Foundation, 'pool' | 'secrets' | 'config'>

/** EdDSA, ES256 and RS256; every authenticator supports one of them (IANA, COSE Algorithms). */
const supportedAlgorithmIDs = [-8, -7, -257]

const SIGN_IN = 'sign_in'
const addingOf = ({ member_id }: Session) => `add ${member_id}`

/**
 * Returns the relying party of passkeys (WebAuthn level 3, section 5.1.3): the host of BASE_URL. Null if browsers do
 * not support passkeys there: the host is an IP address, or is reached by plain http and is not this machine.
 */
export function relyingParty(BASE_URL: string): { id: string; origin: string } | null {
  const { hostname, protocol, origin } = new URL(BASE_URL)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname) !== 0 || hostname.startsWith('[') || (protocol !== 'https:' && !isLocal)) return null
  return { id: hostname, origin }
}

function requireRelyingParty({ config }: Services) {
  const party = relyingParty(config.BASE_URL)
  if (!party) throw new ApiError('validation_error', 'Passkeys need a `BASE_URL` with a host name, by https.')
  return { expectedRPID: party.id, expectedOrigin: party.origin }
}

/**
 * Returns the options for a browser to create a passkey, as JSON for
 * `PublicKeyCredential.parseCreationOptionsFromJSON`.
 */
export async function optionsToAdd(services: Services, session: Session): Promise<object> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  const known = await listPasskeys(services.pool, session.member_id)
  return generateRegistrationOptions({
    rpName: 'Mailbrook',
    rpID: requireRelyingParty(services).expectedRPID,
    userID: new Uint8Array(Buffer.from(session.member_id)),
    userName: session.email,
    userDisplayName: session.name,
    challenge: createChallenge(services.secrets, addingOf(session)),
    excludeCredentials: known.map(({ credential_id }) => ({ id: credential_id })),
    supportedAlgorithmIDs,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** Adds a passkey that a browser has created. `credential`: its JSON. @throws {ApiError} `validation_error` */
export async function addPasskey(
  services: Services,
  session: Session,
  { name, credential }: { name: string; credential: string },
): Promise<void> {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { registrationInfo } = await orRefuse(() =>
    verifyRegistrationResponse({
      ...{ ...requireRelyingParty(services), supportedAlgorithmIDs },
      response: JSON.parse(credential) as RegistrationResponseJSON,
      expectedChallenge: challenge => isChallenge(services.secrets, addingOf(session), challenge),
    }),
  )
  if (!registrationInfo) throw refusal()
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential
  const stored = { id: newId(), member_id: session.member_id, credential_id: id, counter, transports, name }
  const isNew = await insertPasskey(services.pool, { ...stored, public_key: Buffer.from(publicKey) })
  if (!isNew) throw new ApiError('validation_error', 'This passkey has already been added.')
}

/**
 * Returns the options for a browser to sign in by a passkey, as JSON for
 * `PublicKeyCredential.parseRequestOptionsFromJSON`.
 */
export async function optionsToSignIn(services: Services): Promise<object> {
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: requireRelyingParty(services).expectedRPID,
    challenge: createChallenge(services.secrets, SIGN_IN),
    userVerification: 'required',
  })
}

/** Limits each challenge to one use, so that whoever intercepts it cannot use it again. */
export function createUseChallenge({ pool, log }: Foundation): CountUse {
  const onError = (err: unknown) => log.warn({ err }, 'without Postgres, each process counts passkey challenges')
  return createCountUse(pool, { name: 'passkey', uses: 1, window_s: CHALLENGE_SECONDS, onError })
}

/**
 * Signs in by a passkey; returns the token of a new session. `credential`: JSON of the browser. @throws {ApiError}
 * `validation_error` if the passkey is unknown or not valid, `rate_limit_exceeded` after five failures within a minute
 */
export async function signInByPasskey(
  services: PasskeyServices & { countTries: UseCounter },
  credential: string,
  client: Client,
): Promise<string> {
  return startFound(services, client, 'passkey', () => findByPasskey(services, credential))
}

type PasskeyServices = Services & { useChallenge: CountUse }

async function findByPasskey(services: PasskeyServices, credential: string) {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const response = await orRefuse(async () => JSON.parse(credential) as AuthenticationResponseJSON)
  const id = /^[\w-]+$/.exec(String(response?.id))?.[0] // other text may have a NUL character, which Postgres rejects
  const passkey = id && (await findPasskey(services.pool, id))
  if (!passkey) throw refusal()
  const { public_key, credential_id, counter, transports } = passkey
  const { verified, authenticationInfo } = await orRefuse(() =>
    verifyAuthenticationResponse({
      ...requireRelyingParty(services),
      response,
      expectedChallenge: async challenge =>
        isChallenge(services.secrets, SIGN_IN, challenge) && (await services.useChallenge(challenge)).isAllowed,
      credential: {
        ...{ id: credential_id, counter, publicKey: new Uint8Array(public_key) },
        transports: transports as AuthenticatorTransport[],
      },
    }),
  )
  if (!verified) throw refusal()
  await noteUseOfPasskey(services.pool, passkey.id, authenticationInfo.newCounter)
  return { member_id: passkey.member_id, password: null }
}

const refusal = (cause?: unknown) =>
  new ApiError('validation_error', 'The passkey is unknown, or its response came too late.', { cause })

/** Turns errors into refusals: the library throws for each rule that a response of a browser breaks. */
async function orRefuse<Answer>(verify: () => Promise<Answer>): Promise<Answer> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw refusal(error)
  }
}
