/** A bucket and how to reach it. Without credentials, those of the machine are used (environment, profile, role). */
export type S3Location = {
  bucket: string
  /** Prefix of every key, with a trailing slash, or empty. */
  prefix: string
  region: string
  /** For servers other than Amazon's. */
  endpoint?: string
  /** True if the bucket is in the path and not in the host name. Default with an endpoint. */
  path_style: boolean
  credentials?: { accessKeyId: string; secretAccessKey: string }
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

const SHAPE = 's3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://...&region=...'

/**
 * Parses `s3://ACCESS_KEY:SECRET@bucket/prefix?endpoint=https://host:9000&region=eu-west-1&path_style=true`, of which only the
 * bucket is required. The key and the secret are percent-encoded.
 *
 * @throws {RangeError} saying what is wrong, without the secret
 */
export function parseS3Url(text: string): S3Location {
  // A secret may contain `/` and `+`. Unencoded, it would end the host and appear in an error about the bucket's name.
  const url = /^s3:\/\/(?:[^/?#@]*@)?[^/?#@:]+(?:[/?]|$)[^@]*$/.test(text) ? URL.parse(text) : null
  if (!url) throw new RangeError(`must look like ${SHAPE}, the secret percent-encoded`)
  if (!BUCKET.test(url.hostname))
    throw new RangeError('must name a bucket of 3 to 63 lower-case letters, digits, - and .')
  const { endpoint, region, path_style } = optionsOf(url)
  const prefix = decoded(url.pathname).replace(/^\/+|(?<!\/)\/+$/g, '')
  return {
    bucket: url.hostname,
    prefix: prefix && `${prefix}/`,
    region: region ?? 'us-east-1',
    ...(endpoint ? { endpoint } : {}),
    path_style: path_style ? path_style === 'true' : endpoint !== undefined,
    ...credentialsOf(url),
  }
}

function optionsOf({ searchParams }: URL): { endpoint?: string; region?: string; path_style?: string } {
  const options = Object.fromEntries(searchParams)
  for (const [name, value] of Object.entries(options)) {
    const allowed = { endpoint: /^https?:\/\/[^/@]+\/?$/, region: /^[a-z0-9-]+$/, path_style: /^(?:true|false)$/ }[name]
    if (!allowed) throw new RangeError(`has an option "${name}"; there are endpoint, region and path_style`)
    if (!allowed.test(value) || (name === 'endpoint' && !URL.canParse(value))) {
      throw new RangeError(`has the wrong ${name} "${value}"`)
    }
  }
  return options
}

function credentialsOf(url: URL): Pick<S3Location, 'credentials'> {
  const accessKeyId = decoded(url.username)
  const secretAccessKey = decoded(url.password)
  if (Boolean(accessKeyId) !== Boolean(secretAccessKey)) throw new RangeError('needs a key and its secret, or neither')
  return accessKeyId ? { credentials: { accessKeyId, secretAccessKey } } : {}
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RangeError('has a % that does not begin a percent-encoded character')
  }
}
