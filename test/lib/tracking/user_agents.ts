/** Real User-Agents by category. */

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

/** Browsers and mail apps that people use. */
export const PEOPLE = [
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/142.0.0.0 Safari/537.36`,
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`,
  `Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/142.0.0.0 Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 14; SM-S921B) ${WEBKIT} SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36`,
  `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`,
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0',
  'Mozilla/5.0 (Android 15; Mobile; rv:144.0) Gecko/144.0 Firefox/144.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (iPad; CPU OS 16_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/120.0.0.0 Safari/537.36 OPR/106.0.0.0`,
]

/** Mail apps that load pixels; they open links in a browser. */
export const MAIL_APPS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)',
  'Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)',
  'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; .NET4.0C; .NET4.0E; Microsoft Outlook 16.0.5430; ms-office; MSOffice 16)',
  'Outlook-iOS/723.4027091.prod.iphone (4.2415.0)',
  'Outlook-Android/2.0',
]

export const PROXIES: [rule: string, user_agent: string][] = [
  ['gmail_proxy', 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'],
  [
    'gmail_proxy',
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0 (via ggpht.com GoogleImageProxy)`,
  ],
  ['yahoo_proxy', 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
  ['yahoo_proxy', 'Mozilla/5.0 (compatible; YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html)'],
]

/** Bots, for any kind of request. */
export const MACHINES: [rule: string, user_agent: string][] = [
  ['no_user_agent', ''],
  ['barracuda', 'BarracudaCentral (https://www.barracudacentral.org/)'],
  ['barracuda', 'Mozilla/5.0 (compatible; Barracuda Sentinel (EE))'],
  ['defender', `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/42.0.2311.135 Safari/537.36 Edge/12.246`],
  ['defender', 'Microsoft Office Existence Discovery'],
  ['headless', `Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} HeadlessChrome/126.0.0.0 Safari/537.36`],
  ['program', 'curl/8.7.1'],
  ['program', 'Wget/1.21.4'],
  ['program', 'python-requests/2.32.3'],
  ['program', 'Go-http-client/2.0'],
  ['program', 'Java/17.0.2'],
  ['program', 'axios/1.7.2'],
  ['program', 'okhttp/4.12.0'],
  ['robot', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'],
  ['robot', 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'],
  ['robot', 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)'],
  ['robot', 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)'],
  ['robot', `Mozilla/5.0 (Windows NT 6.1; WOW64) ${WEBKIT} BingPreview/1.0b`],
]

/** Known only to isbot. */
export const CLICKING_MACHINES = [
  'Mozilla/5.0',
  'WhatsApp/2.23.20.0',
  'Mozilla/5.0 (compatible; Google-Read-Aloud; +https://support.google.com/webmasters/answer/1061943)',
  'GuzzleHttp/7',
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
]
