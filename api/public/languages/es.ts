import type { Words } from './words.ts'

export const es: Words = {
  recipient: 'Correos enviados a {address}',
  unsubscribe: 'Darse de baja de todo',
  unsubscribe_topic: 'Darse de baja de los correos como este',
  choose: 'Elija los correos que recibe',
  save: 'Guardar',
  undo: 'Deshacer',
  resubscribe: 'Volver a suscribirse',
  unsubscribed: 'Se ha dado de baja. {sender} no le enviará más boletines.',
  unsubscribed_topic: 'No recibirá más correos como este.',
  resubscribed: 'Vuelve a estar suscrito.',
  resubscribed_topic: 'Volverá a recibir correos como este.',
  no_longer: 'Ya no recibirá: {topics}.',
  from_now_on: 'Recibirá: {topics}.',
  nothing_changed: 'No se ha cambiado nada.',
  complained:
    'Marcó un correo de {sender} como no deseado, por lo que no puede suscribirse aquí. Escriba a {sender} si quiere volver a recibir sus correos.',
  too_often: 'Lo ha cambiado demasiadas veces. Inténtelo de nuevo en una hora.',
  send_answer: 'Enviar respuesta',
  change_answer: 'Cambiar respuesta',
  answered: 'Gracias. Su respuesta es: {answer}.',
  test_poll: 'Este es un correo de prueba: las respuestas no se guardan.',
  bad_link: 'Este enlace no funciona',
  bad_link_help: 'Copie el enlace completo del correo o use el enlace de un correo más reciente.',
  unavailable: 'Esta página no está disponible en este momento',
  unavailable_help: 'No se ha cambiado nada. Inténtelo de nuevo en unos segundos.',
}
