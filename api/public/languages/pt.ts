import type { Words } from './words.ts'

export const pt: Words = {
  recipient: 'E-mails enviados para {address}',
  unsubscribe: 'Cancelar todas as subscrições',
  unsubscribe_topic: 'Deixar de receber e-mails como este',
  choose: 'Escolha os e-mails que recebe',
  save: 'Guardar',
  undo: 'Desfazer',
  resubscribe: 'Subscrever novamente',
  unsubscribed: 'A sua subscrição foi cancelada. {sender} não lhe enviará mais newsletters.',
  unsubscribed_topic: 'Não receberá mais e-mails como este.',
  resubscribed: 'A sua subscrição está novamente ativa.',
  resubscribed_topic: 'Voltará a receber e-mails como este.',
  no_longer: 'Deixará de receber: {topics}.',
  from_now_on: 'Receberá: {topics}.',
  nothing_changed: 'Nada foi alterado.',
  complained:
    'Marcou um e-mail de {sender} como spam, por isso não pode subscrever aqui. Escreva para {sender} se quiser voltar a receber os seus e-mails.',
  too_often: 'Alterou isto demasiadas vezes. Tente novamente dentro de uma hora.',
  send_answer: 'Enviar resposta',
  change_answer: 'Alterar resposta',
  answered: 'Obrigado. A sua resposta é: {answer}.',
  test_poll: 'Este é um e-mail de teste: as respostas não são guardadas.',
  bad_link: 'Este link não funciona',
  bad_link_help: 'Copie o link completo do e-mail ou use o link de um e-mail mais recente.',
  unavailable: 'Esta página não está disponível de momento',
  unavailable_help: 'Nada foi alterado. Tente novamente dentro de alguns segundos.',
}
