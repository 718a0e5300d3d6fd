package runfolder

import (
	"bytes"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"xlarun/internal/protobuf"
)

// Event files begin with the run's config: as a text, for TensorBoard's page of texts, and as hyper-parameters, for its
// page that compares runs by them.

// Field numbers of Summary.Value, SummaryMetadata and TensorProto (tensorflow/core/framework/summary.proto and
// tensor.proto), and of the hyper-parameters (tensorboard/plugins/hparams/plugin_data.proto).
const (
	valueTensor        = 8
	valueMetadata      = 9
	metadataPlugin     = 1 // PluginData
	pluginName         = 1
	pluginContent      = 2
	tensorDType        = 1
	tensorShape        = 2
	tensorStrings      = 8
	dtypeFloat         = 1
	dtypeString        = 7
	hparamsVersion     = 1
	hparamsSession     = 3 // SessionStartInfo
	sessionHParams     = 1 // map<string, google.protobuf.Value>
	sessionStartSecs   = 5
	valueNumber        = 2
	valueString        = 3
	valueBool          = 4
	hparamsSessionInfo = "_hparams_/session_start_info"
)

// configEvents returns the records of a config.
func configEvents(config []byte, now time.Time) []byte {
	if len(config) == 0 {
		return nil
	}
	return append(textEvent(config, now), hparamsEvent(config, now)...)
}

// textEvent returns the record of a config as a text. TensorBoard reads texts as Markdown.
func textEvent(config []byte, now time.Time) []byte {
	text := "```toml\n" + strings.TrimSpace(string(config)) + "\n```"
	var tensor protobuf.Message
	tensor.Int(tensorDType, dtypeString)
	tensor.Bytes(tensorShape, nil) // a scalar
	tensor.Text(tensorStrings, text)
	return pluginEvent("config/text_summary", "text", nil, tensor, now)
}

// hparamsEvent returns the record of a config as hyper-parameters.
func hparamsEvent(config []byte, now time.Time) []byte {
	var session, content, tensor protobuf.Message
	for _, s := range configSettings(config) {
		var entry protobuf.Message
		entry.Text(1, s.name)
		entry.Bytes(2, s.value)
		session.Bytes(sessionHParams, entry)
	}
	session.Double(sessionStartSecs, seconds(now))
	content.Int(hparamsVersion, 0)
	content.Bytes(hparamsSession, session)
	tensor.Int(tensorDType, dtypeFloat) // an empty one: TensorBoard wants a tensor
	tensor.Bytes(tensorShape, nil)
	return pluginEvent(hparamsSessionInfo, "hparams", content, tensor, now)
}

// pluginEvent returns the record of a tensor that a plugin of TensorBoard shows.
func pluginEvent(tag, plugin string, content, tensor []byte, now time.Time) []byte {
	var data, metadata, value, summary protobuf.Message
	data.Text(pluginName, plugin)
	if content != nil {
		data.Bytes(pluginContent, content)
	}
	metadata.Bytes(metadataPlugin, data)
	value.Text(valueTag, tag)
	value.Bytes(valueMetadata, metadata)
	value.Bytes(valueTensor, tensor)
	summary.Bytes(summaryValue, value)
	event := newEvent(now)
	event.Bytes(eventSummary, summary)
	return record(event)
}

// configSetting is a setting of a config, its value a google.protobuf.Value.
type configSetting struct {
	name  string
	value []byte
}

// configSettings reads the lines of a config.toml as runs write it: one setting a line, in tables.
func configSettings(config []byte) (all []configSetting) {
	table := ""
	for line := range bytes.Lines(config) {
		text := strings.TrimSpace(string(line))
		if inner, ok := strings.CutPrefix(text, "["); ok {
			table = strings.TrimSuffix(inner, "]") + "."
			continue
		}
		name, value, ok := strings.Cut(text, " = ")
		if !ok || strings.HasPrefix(text, "#") {
			continue
		}
		all = append(all, configSetting{table + strings.Trim(name, `'"`), protoValue(value)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	return all
}

// protoValue returns a value of TOML as a google.protobuf.Value: a number, a bool or a text.
func protoValue(text string) (value protobuf.Message) {
	if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
		value.Double(valueNumber, x)
	} else if text == "true" || text == "false" {
		value.Bool(valueBool, text == "true")
	} else {
		value.Text(valueString, strings.Trim(text, `'"`))
	}
	return value
}
