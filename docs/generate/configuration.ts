import { GENERATED, table } from './markdown.ts'
import { sections } from './variables.ts'

const INTRODUCTION = `
Mailbrook is configured with environment variables. \`.env.example\` lists them for your process manager; \`npm start\` reads only the
environment, not a file. An empty value counts as not set. If values are invalid, the error message lists all of them and nothing
starts. \`npm run doctor\` finds other problems of the configuration.

The server connects directly to other servers: \`HTTP_PROXY\` and the like have no effect.

Lists are separated by commas. A network is written with its prefix length, such as \`10.0.0.0/8\` or \`fd00::/8\`.
`.trim()

const RELAY_OPTIONS = [
  [
    '`requireTLS=true`',
    'Stop if the relay does not offer STARTTLS. Recommended with a password, which would otherwise be sent in the clear.',
  ],
  ['`ignoreTLS=true`', 'Do not use STARTTLS, even if the relay offers it.'],
  ['`tls.rejectUnauthorized=false`', 'Accept a certificate that is not valid for the host, such as a self-signed one.'],
  ['`tls.servername=NAME`', 'The name that the certificate must be valid for, if it is not the host of the URL.'],
]

const BUCKET_OPTIONS = [
  ['`endpoint=URL`', 'Amazon S3', 'URL of the server, if it is not Amazon’s.'],
  ['`region=NAME`', '`us-east-1`', 'Region of the bucket.'],
  [
    '`path_style=true`',
    '`true` with an `endpoint`',
    'The bucket is part of the path; `false`: it is part of the host name.',
  ],
]

const RELAY_URLS = `
## Relay URLs

\`smtp://user:pass@host:port\` uses port 25 by default, and STARTTLS if the relay offers it. \`smtps://user:pass@host:port\` uses port
465 by default, and TLS from the first byte. Percent-encode special characters in the user name and the password. Options are a query
string, with \`?\` before the first option and \`&\` between options:

${table(['Option', 'Meaning'], RELAY_OPTIONS)}

Several URLs are separated by commas.
`.trim()

const BUCKET_URLS = `
## Bucket URLs

\`s3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://minio.acme.com:9000\` names a bucket of Amazon S3, MinIO, Ceph or any other
server that speaks the S3 protocol. The key and the secret are percent-encoded; without them, the credentials of the machine
are used (its role, its profile or the \`AWS_\` variables). The prefix and the options are optional:

${table(['Option', 'Default', 'Meaning'], BUCKET_OPTIONS)}
`.trim()

/** Generates docs/configuration.md. */
export function configurationPage(): string {
  const tables = sections.map(({ title, about, variables }) => {
    const rows = variables.map(({ name, description, value, unset }) => [
      `\`${name}\``,
      unset ?? `\`${value}\``,
      description,
    ])
    return [`## ${title}`, about, table(['Variable', 'Default', 'Meaning'], rows)].filter(Boolean).join('\n\n')
  })
  const parts = ['# Configuration', GENERATED, INTRODUCTION, ...tables, RELAY_URLS, BUCKET_URLS]
  return `${parts.join('\n\n')}\n`
}
