import t from 'tap'
import { parseS3Url } from '#lib/files/s3_url.ts'

t.test('parseS3Url needs only a bucket', async t => {
  t.strictSame(parseS3Url('s3://mail-blobs'), {
    bucket: 'mail-blobs',
    prefix: '',
    region: 'us-east-1',
    path_style: false,
  })
})

t.test('parseS3Url reads credentials, prefix, endpoint and region', async t => {
  const url = 's3://AK%2FIA:s%2Bec%2Fr%40t@my.bucket/a/b%20c/?endpoint=http://minio.acme.com:9000&region=eu-west-1'
  t.strictSame(parseS3Url(url), {
    bucket: 'my.bucket',
    prefix: 'a/b c/',
    region: 'eu-west-1',
    endpoint: 'http://minio.acme.com:9000',
    path_style: true,
    credentials: { accessKeyId: 'AK/IA', secretAccessKey: 's+ec/r@t' },
  })
  t.equal(parseS3Url(`${url}&path_style=false`).path_style, false)
  t.equal(parseS3Url('s3://bucket?path_style=true').path_style, true)
})

t.test('parseS3Url names the fault and hides the secret', async t => {
  for (const [url, message] of [
    ['', /^must look like s3:/],
    ['bucket', /^must look like s3:/],
    ['https://bucket.s3.amazonaws.com', /^must look like s3:/],
    ['s3://', /^must look like s3:/],
    ['s3://key:canary/x@bucket', /^must look like .*percent-encoded/],
    ['s3://key:canary#x@bucket', /^must look like .*percent-encoded/],
    ['s3://key:can@ary@bucket', /^must look like .*percent-encoded/],
    ['s3://bucket:9000', /^must look like s3:/],
    ['s3://key:canary%zz@bucket', /^has a %/],
    ['s3://key:canary@Bucket', /^must name a bucket/],
    ['s3://key:canary@b', /^must name a bucket/],
    ['s3://key@bucket', /^needs a key and its secret/],
    ['s3://:canary@bucket', /^needs a key and its secret/],
    ['s3://bucket?endpoint=minio:9000', /^has the wrong endpoint "minio:9000"/],
    ['s3://bucket?endpoint=http://a.com/b', /^has the wrong endpoint/],
    ['s3://bucket?region=', /^has the wrong region ""/],
    ['s3://bucket?path_style=yes', /^has the wrong path_style "yes"/],
    ['s3://bucket?regoin=x', /^has an option "regoin"; there are endpoint, region and path_style/],
  ] as const) {
    const error = t.throws(() => parseS3Url(url), { name: 'RangeError', message }, url)
    t.notMatch(String(error), 'canary')
  }
})
