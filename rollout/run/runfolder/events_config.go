package runfolder

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
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
	tensor := protowire.AppendTag(nil, tensorDType, protowire.VarintType)
	tensor = protowire.AppendVarint(tensor, dtypeString)
	tensor = protowire.AppendTag(tensor, tensorShape, protowire.BytesType)
	tensor = protowire.AppendBytes(tensor, nil) // a scalar
	tensor = protowire.AppendTag(tensor, tensorStrings, protowire.BytesType)
	tensor = protowire.AppendString(tensor, text)
	return pluginEvent("config/text_summary", "text", nil, tensor, now)
}

// hparamsEvent returns the record of a config as hyper-parameters.
func hparamsEvent(config []byte, now time.Time) []byte {
	var session []byte
	for _, s := range configSettings(config) {
		entry := protowire.AppendTag(nil, 1, protowire.BytesType)
		entry = protowire.AppendString(entry, s.name)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendBytes(entry, s.value)
		session = protowire.AppendTag(session, sessionHParams, protowire.BytesType)
		session = protowire.AppendBytes(session, entry)
	}
	session = protowire.AppendTag(session, sessionStartSecs, protowire.Fixed64Type)
	session = protowire.AppendFixed64(session, math.Float64bits(float64(now.UnixMicro())/1e6))
	content := protowire.AppendTag(nil, hparamsVersion, protowire.VarintType)
	content = protowire.AppendVarint(content, 0)
	content = protowire.AppendTag(content, hparamsSession, protowire.BytesType)
	content = protowire.AppendBytes(content, session)
	tensor := protowire.AppendTag(nil, tensorDType, protowire.VarintType) // an empty one: TensorBoard wants a tensor
	tensor = protowire.AppendVarint(tensor, dtypeFloat)
	tensor = protowire.AppendTag(tensor, tensorShape, protowire.BytesType)
	tensor = protowire.AppendBytes(tensor, nil)
	return pluginEvent(hparamsSessionInfo, "hparams", content, tensor, now)
}

// pluginEvent returns the record of a tensor that a plugin of TensorBoard shows.
func pluginEvent(tag, plugin string, content, tensor []byte, now time.Time) []byte {
	data := protowire.AppendTag(nil, pluginName, protowire.BytesType)
	data = protowire.AppendString(data, plugin)
	if content != nil {
		data = protowire.AppendTag(data, pluginContent, protowire.BytesType)
		data = protowire.AppendBytes(data, content)
	}
	metadata := protowire.AppendTag(nil, metadataPlugin, protowire.BytesType)
	metadata = protowire.AppendBytes(metadata, data)
	value := protowire.AppendTag(nil, valueTag, protowire.BytesType)
	value = protowire.AppendString(value, tag)
	value = protowire.AppendTag(value, valueMetadata, protowire.BytesType)
	value = protowire.AppendBytes(value, metadata)
	value = protowire.AppendTag(value, valueTensor, protowire.BytesType)
	value = protowire.AppendBytes(value, tensor)
	summary := protowire.AppendTag(nil, summaryValue, protowire.BytesType)
	summary = protowire.AppendBytes(summary, value)
	event := appendWallTime(nil, now)
	event = protowire.AppendTag(event, eventSummary, protowire.BytesType)
	event = protowire.AppendBytes(event, summary)
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
	slices.SortFunc(all, func(a, b configSetting) int { return strings.Compare(a.name, b.name) })
	return all
}

// protoValue returns a value of TOML as a google.protobuf.Value: a number, a bool or a text.
func protoValue(text string) []byte {
	if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
		b := protowire.AppendTag(nil, valueNumber, protowire.Fixed64Type)
		return protowire.AppendFixed64(b, math.Float64bits(x))
	}
	if text == "true" || text == "false" {
		b := protowire.AppendTag(nil, valueBool, protowire.VarintType)
		return protowire.AppendVarint(b, protowire.EncodeBool(text == "true"))
	}
	b := protowire.AppendTag(nil, valueString, protowire.BytesType)
	return protowire.AppendString(b, strings.Trim(text, `'"`))
}
