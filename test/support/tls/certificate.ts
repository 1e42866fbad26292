import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'

/** Self-signed, for all direct subdomains of secure.acme.com, until 2120. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWu35uo8oNGsbgoQN
1hYac5eJ4lj6IgFTmMs5Tht/wDGhRANCAASomRHbuKoUMP3iVvCaNvLgPsK6C9QH
IL1RxCFv5c14KKkrszU/pQFWIfnStfworzT7pon4SjU5P+LHwpaqL25H
-----END PRIVATE KEY-----`

export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBVTCB/KADAgECAgEBMAoGCCqGSM49BAMCMBoxGDAWBgNVBAMMD3NlY3VyZS5h
Y21lLmNvbTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGjEYMBYG
A1UEAwwPc2VjdXJlLmFjbWUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
qJkR27iqFDD94lbwmjby4D7CugvUByC9UcQhb+XNeCipK7M1P6UBViH50rX8KK80
+6aJ+Eo1OT/ix8KWqi9uR6MxMC8wDwYDVR0TAQH/BAUwAwEB/zAcBgNVHREEFTAT
ghEqLnNlY3VyZS5hY21lLmNvbTAKBggqhkjOPQQDAgNIADBFAiEA0E3PVs7LSSm1
bs2pMDxwO7ok+q0nnKDg8XMRhUH765wCIDaDuZRhE+zaYuwcXVvF62eWaMMER8Rq
wLeFS9wi5U8A
-----END CERTIFICATE-----`

/** Trusts the certificate until the end of the test. */
export function trustCertificate(t: Test): void {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, CERTIFICATE])
  t.teardown(() => setDefaultCACertificates(before))
}
