/**
 * A notice as it arrives after two to six hops: with the fields that real servers add on top, folded with tabs and with spaces,
 * some of them repeated. `n` determines the hops and forms: the same number gives the same message.
 */
export function asReceived(raw: string, n: number): string {
  const hops = 2 + (n % 5)
  const trace = Array.from({ length: hops }, (_, hop) => received(hops - hop, n + hop)).join('')
  const above = [...ABOVE.slice(0, 1 + (n % ABOVE.length)), trace, ...SIGNED.slice(0, n % (SIGNED.length + 1))]
  const separator = n % 7 === 0 ? 'From MAILER-DAEMON Sat Nov 21 10:00:00 2026\r\n' : ''
  return `${separator}${above.join('')}${raw.replace(/\r\n|\n|\r/g, '\r\n')}`
}

/** CRLF, LF and CR: the last as some old systems and gateways write it. */
export const LINE_ENDS = ['\r\n', '\n', '\r'] as const

function received(hop: number, n: number): string {
  const date = `Sat, 21 Nov 2026 10:00:${String(10 + hop)} +0000 (UTC)`
  const forms = [
    `Received: from mx${hop}.example (mx${hop}.example [203.0.113.${hop}])\r\n\tby mx${hop + 1}.example (Postfix) with ESMTPS id 4F${hop}\r\n\tfor <b-x@send.acme.com>; ${date}\r\n`,
    `Received: from mx${hop}.example ([203.0.113.${hop}]) by mx.google.example\r\n        with ESMTPS id a1-20020a sor${hop}\r\n        (Google Transport Security);\r\n        ${date}\r\n`,
    `Received: (qmail ${hop}120 invoked for bounce); ${date}\r\n`,
    `Received: from EUR0${hop}.example (2603:10a6::${hop})\r\n by EUR1${hop}.example with Microsoft SMTP Server (version=TLS1_2,\r\n cipher=TLS_ECDHE) id 15.20.${hop};\r\n ${date}\r\n`,
    `Received: by mx${hop}.example (Postfix)\r\n\tid 4F${hop}; ${date}\r\n`,
  ]
  return forms[n % forms.length] as string
}

const ABOVE = [
  'Return-Path: <>\r\n',
  'Delivered-To: b-x@send.acme.com\r\n',
  'X-Original-To: b-x@send.acme.com\r\nDelivered-To: b-x@mx.acme.com\r\n',
  'Authentication-Results: mx.acme.com;\r\n\tdkim=pass header.d=mx.example header.s=s1;\r\n\tspf=none smtp.mailfrom=""\r\n',
  'Received-SPF: none (mx.acme.com: 203.0.113.7 is neither permitted nor denied by domain of\r\n  postmaster@mx.example) client-ip=203.0.113.7;\r\n',
]

const SIGNED = [
  'ARC-Seal: i=2; a=rsa-sha256; t=1795255210; cv=pass;\r\n        d=relay.example; s=arc-20240605;\r\n        b=Zm9vYmFy\r\n         YmFy==\r\n',
  'ARC-Message-Signature: i=2; a=rsa-sha256; c=relaxed/relaxed; d=relay.example;\r\n\th=mime-version:date:message-id:subject:from;\r\n\tbh=2jmj7l5rSw0yVb/vlWAYkK/YBwk=;\r\n\tb=Zm9v\r\n',
  'ARC-Authentication-Results: i=2; relay.example;\r\n       dkim=pass header.i=@mx.example;\r\n       arc=pass (i=1)\r\n',
  'ARC-Seal: i=1; a=rsa-sha256; t=1795255209; cv=none; d=mx.example; s=arc;\r\n b=YmF6\r\n',
  'ARC-Authentication-Results: i=1; mx.example; spf=none smtp.helo=mx.example;\r\n none=none\r\n',
  'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n        d=mx.example; s=20240605; t=1795255208;\r\n        h=from:to:subject:date:message-id:content-type;\r\n        bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;\r\n        b=QUJD\r\n',
  'DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=mx.example; s=ed;\r\n\tb=REVG\r\n',
  'X-Spam-Status: No, score=-1.9 required=5.0\r\n\ttests=BAYES_00,\r\n\tURIBL_BLOCKED\r\n',
]
