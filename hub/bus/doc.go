// Package bus carries messages between the parts of a Hub, and between Hubs that share one NATS server.
//
// It promises that messages of one publisher on one subject reach each subscriber in order and at most once, that a
// subscriber never holds up another or the publisher, and that a lost message is never silent: a subscriber that fell
// behind, or whose connection broke, is cut, and hears so by Cut as its last message. It then has to look at the whole
// state again. Nothing is stored: who is not subscribed misses it. Without a URL the server runs inside this process
// and opens no port.
package bus
