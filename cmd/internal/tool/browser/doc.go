// Package browser opens addresses with secret tokens in the browser of the user.
//
//	found, err := browser.Open(env, "http://127.0.0.1:43000/?token="+token)
package browser
