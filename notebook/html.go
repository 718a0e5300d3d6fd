package notebook

import (
	"html"
	"strings"
)

// MIME types of a display.
const (
	mimeHTML = "text/html"
	mimeText = "text/plain"
)

// style is the style of a display. A notebook says its text's color in a variable; elsewhere it is inherited.
const style = "color:var(--jp-content-font-color1,var(--vscode-editor-foreground,inherit));" +
	"font-family:var(--jp-ui-font-family,Helvetica,Arial,sans-serif);font-size:13px;line-height:1.4"

// HTML shows an HTML fragment. text stands for it where HTML cannot be shown, such as in a terminal.
func HTML(fragment, text string) { show(display(fragment, text, "")) }

func display(fragment, text, id string) message {
	return message{DisplayID: id, Metadata: map[string]any{}, Data: map[string]any{
		mimeHTML: `<div style="` + style + `">` + fragment + `</div>`, mimeText: text}}
}

// escape makes text safe inside of HTML.
func escape(text string) string { return html.EscapeString(strings.ToValidUTF8(text, "\ufffd")) }

// Lines joins lines of text to an HTML fragment, the first one bold.
func Lines(lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		line = escape(line)
		if i == 0 {
			line = "<b>" + line + "</b>"
		}
		b.WriteString("<div>" + line + "</div>")
	}
	return b.String()
}
