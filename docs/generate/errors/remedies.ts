import type { OutcomeName } from '#client/cli/errors.ts'
import type { ClientErrorName } from '#client/source/error.ts'
import type { ErrorName } from '#lib/errors.ts'

/** Advice for each error of the API. */
export const REMEDIES: Record<ErrorName, string> = {
  missing_api_key:
    'Send the header `Authorization: Bearer mb_...`. A common cause is that the variable with the key is not set where the program runs.',
  restricted_api_key:
    'Use a key with full access: `npm run admin -- key create --account ACCOUNT --name NAME` creates one. Keep the restricted key for programs that only send.',
  invalid_api_key:
    'Check for spaces or quotes around the key, and that it is not the key of another server. If it was revoked or has expired, create another one. `mailbrook whoami` shows whether a key works.',
  dashboard_only: 'Sign in to the dashboard as an owner or an admin, or ask the operator: `npm run admin -- key`.',
  validation_error:
    'Read `message`: it names the field and what it must be. With status `403`, send a `User-Agent` header. With `409`, choose another name, or change the record that has it. If all recipients are suppressed, see [suppressions](sending.md#suppressions).',
  missing_required_field:
    'Add the field that `message` names. A camelCase name is accepted as well; a name with a typo is ignored.',
  not_found:
    'Check the id: a record of another account does not exist for your key. For a route, check the method, and that the base URL ends in `/api`.',
  invalid_idempotency_key: 'Use a key of 1 to 255 printable ASCII characters, such as `order-17`.',
  invalid_idempotent_request:
    'Use a new key for a new email. To repeat the same email, send exactly the same body as in the first request, including its times.',
  concurrent_idempotent_requests:
    'Wait for as long as `retry-after` says, and repeat the request. It returns the response of the first request.',
  invalid_from_address:
    'Write the sender as `name@domain` or `Name <name@domain>`, at a domain that you have verified.',
  invalid_to_address:
    'Correct or remove the recipient that `message` names. Validate addresses when people enter them.',
  invalid_attachment: 'Give each attachment either `content` as base64, or `path` with a public URL, and a `filename`.',
  reserved_recipient: 'Use an address at `simulator.internal` for tests: see [simulator](sending.md#simulator).',
  rate_limit_exceeded:
    'Wait for as long as `retry-after` says. Send up to 100 emails per request with `POST /emails/batch`. The operator sets the limit with [`SENDS_PER_MINUTE`](configuration.md).',
  daily_quota_exceeded:
    'Send again later: `GET /usage` shows what is left. The operator changes plans with `npm run admin -- plan set`.',
  monthly_quota_exceeded:
    'Send again later: `GET /usage` shows what is left. The operator changes plans with `npm run admin -- plan set`.',
  automation_quota_exceeded:
    'Start fewer automation runs, or have the operator change the plan. `GET /usage` shows how many are left.',
  reputation_limit_exceeded:
    'Send again after `retry-after`: a new domain may send more each day. See [warming up](direct.md#warming-up).',
  reputation_paused:
    'Find out why so many emails bounced or caused complaints, and clean the list. Then the operator resumes sending with `npm run admin -- account resume` or `domain resume`.',
  plan_limit_reached: 'Delete a domain that you no longer use, or have the operator change the plan.',
  domain_conflict: 'If the domain is yours, [claim it](domains.md#claims) with a DNS record.',
  contacts_busy: 'Repeat the request after `retry-after`. Nothing was changed.',
  contacts_timeout: 'Repeat the request after `retry-after`, with fewer contacts. Nothing was changed.',
  batch_incomplete:
    'Send the emails that are not in `sent` again. With an `Idempotency-Key`, repeating the request returns the same response. `mailbrook emails batch` sends the remaining emails automatically.',
  sending_service_unavailable:
    'Repeat the request after `retry-after`, with the same `Idempotency-Key`. If the error persists, the operator checks `npm run doctor` and `npm run admin -- sending status`.',
  sending_configuration_unavailable:
    'The operator checks `npm run doctor` and the log: relays reject the login, or the transport or the DKIM key of the domain is not usable.',
  internal_server_error: 'Repeat the request. If it fails again, report it; the log of the server has the cause.',
  view_only_member: 'Ask an owner or an admin of the account for another role.',
  contact_limit_reached: 'Programs written for other services may know this name. Mailbrook does not respond with it.',
  ai_credits_exceeded:
    'To have more replies classified by the AI service, have the operator change `--ai-credits` of the plan. `GET /usage` shows how many were used.',
  application_error: 'Check what responds at the base URL: it may be a proxy or another program instead of Mailbrook.',
}

type OwnName = ClientErrorName | 'cli_error' | OutcomeName

/** Errors that the client library and the command line create themselves: status, meaning and advice. */
export const CLIENT_ERRORS: Record<OwnName, [status: string, meaning: string, remedy: string]> = {
  network_error: [
    '0',
    'No response came in time.',
    'Check the address of the server, and that it runs. Send again with `error.idempotencyKey`: nothing is sent twice.',
  ],
  unexpected_response: [
    'of the response',
    'The response is not from Mailbrook.',
    'Check `baseUrl`, and the proxy in front of the server, if there is one.',
  ],
  client_error: ['null', 'The arguments are wrong, and nothing was sent.', 'Correct what `message` names.'],
  cli_error: ['null', 'The command is wrong, and nothing was sent.', 'Run it with `--help`.'],
  wait_timeout: [
    'null',
    'The result that the call waits for is not available yet.',
    'Wait longer, or read the record later.',
  ],
  invalid_signature: [
    'null',
    'The request is not signed with this secret, or is too old.',
    'Verify the raw body, before it is parsed, with the secret of this webhook, and check your clock.',
  ],
  emails_refused: [
    'null',
    'Some lines of `mailbrook emails batch` were refused; the others were accepted.',
    'Correct the lines with an `error`, and send them from another file.',
  ],
  import_failed: [
    'null',
    'The import of contacts that the command waited for has failed.',
    'See `error` of the import: `mailbrook contacts imports get ID`.',
  ],
  not_delivered: [
    'null',
    'The email that `--wait` waited for has another final status than `delivered`.',
    'See its events, which are printed: `mailbrook emails get ID`.',
  ],
  not_sent: [
    'null',
    'The campaign that `--wait` waited for was not sent, or is scheduled for later.',
    'See its status and `pause_reason`: `mailbrook campaigns get ID`.',
  ],
  not_verified: [
    'null',
    'The domain that `--wait` waited for is not verified.',
    'Publish the records whose status is not `verified`, and run the command again.',
  ],
  problems_found: ['null', '`mailbrook doctor` found a problem.', 'Do what its findings say in `fix`.'],
}
