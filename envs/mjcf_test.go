package envs_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"xlarun/envs/bodies"
	"xlarun/envs/bodies/mjcf"
	"xlarun/envs/bodies/mjcf/mjcftest"
	"xlarun/third_party/oracles"
)

// What a document says becomes the numbers that MuJoCo compiles it to.
func TestMJCFFeatures(t *testing.T) {
	var file struct{ Models map[string]*bodies.Model }
	require.NoError(t, oracles.Read("bodies/mjcf/testdata/features.json.gz", &file))
	require.Greater(t, len(file.Models), 15)
	for name, want := range file.Models {
		t.Run(name, func(t *testing.T) {
			got, err := mjcf.Read(os.DirFS("bodies/mjcf/testdata/features"), name)
			require.NoError(t, err)
			mjcftest.Equal(t, want, got, name)
		})
	}
}

// read reads a document. Another may be included as other.xml.
func read(text, other string) (*bodies.Model, error) {
	return mjcf.Read(fstest.MapFS{"m.xml": {Data: []byte(text)}, "other.xml": {Data: []byte(other)}}, "m.xml")
}

// body is a document with one body that holds some elements beside a joint and a geom, and others after the world.
func body(inside, after string) string {
	return `<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="b"><joint name="j"/>` +
		`<geom name="g" size=".1"/>` + inside + `</body></worldbody>` + after + `</mujoco>`
}

// A document that is not computed is refused by one sentence: where, what it got, what it wants.
func TestMJCFRefusals(t *testing.T) {
	for text, want := range map[string]string{
		``:                     `m.xml:1: the document has no element: want <mujoco>`,
		`hello`:                `m.xml:1: the document has no element: want <mujoco>`,
		`<mujoco><worldbody>`:  `m.xml:1: unexpected EOF`,
		`<mujoco></worldbody>`: `m.xml:1: element <mujoco> closed by </worldbody>`,
		`<robot name="r"/>`: `m.xml:1: <robot name="r">: the document is not ` +
			`a model: want <mujoco>`,
		`<mujoco/>`: `m.xml: body: there is none: want at least one`,
		`<mujoco><worldbody><geom size="1"/><body/></worldbody></mujoco>`: `m.xml: joint: there is none: ` +
			`want at least one`,
		`<mujoco><body/></mujoco>`: `m.xml:1: <body>: <body> is not an element of ` +
			`<mujoco>`,
		`<mujoco><worldbody><replicate count="2"/></worldbody></mujoco>`: `m.xml:1: <replicate>: <replicate> in ` +
			`<worldbody> is not supported: put its children in its place, once for each copy, with the position and ` +
			`orientation added`,
		`<mujoco a="1" a="2"/>`: `m.xml:1: <mujoco>: attribute a stands twice`,
		body(``, `<thing/>`):    `m.xml:1: <thing>: <thing> is not an element of <mujoco>`,
		body(`<thing/>`, ``): `m.xml:1: <thing>: <thing> in <body> is not ` +
			`supported: leave it out`,
		body(`<frame/>`, ``): `m.xml:1: <frame>: <frame> in <body> is not ` +
			`supported: put its children in its place, with its position and orientation added`,
		body(`<composite/>`, ``): `m.xml:1: <composite>: <composite> in <body> is ` +
			`not supported: leave it out`,
		body(`<joint stiff="1"/>`, ``): `m.xml:1: <joint>: stiff="1" is not supported: ` +
			`leave it out`,
		body(`<joint type="ball"/>`, ``): `m.xml:1: <joint>: type="ball" is not supported: ` +
			`want free, slide, hinge`,
		body(`<joint frictionloss=".1"/>`, ``): `m.xml:1: <joint>: frictionloss=".1" is not ` +
			`supported: want 0, or leave it out`,
		body(`<joint axis="0 0 0"/>`, ``): `m.xml:1: <joint>: axis="0 0 0": want a direction`,
		body(`<joint damping="-1"/>`, ``): `m.xml:1: <joint>: damping="-1": want at least 0`,
		body(`<joint damping="NaN"/>`, ``): `m.xml:1: <joint>: damping="NaN": "NaN" is not a ` +
			`finite number`,
		body(`<joint damping="one"/>`, ``): `m.xml:1: <joint>: damping="one": "one" is not a ` +
			`finite number`,
		body(`<joint axis="0 1"/>`, ``): `m.xml:1: <joint>: axis="0 1": want 3 numbers`,
		body(`<joint range="2 1" limited="true"/>`, ``): `m.xml:1: <joint>: range="2 1": want two ` +
			`numbers, the larger one last`,
		body(`<joint name="j"/>`, ``): `m.xml:1: <joint name="j">: another joint has ` +
			`this name: want one of its own`,
		body(`<joint class="c"/>`, ``):     `m.xml:1: <joint>: class "c" is not in <default>`,
		body(`<body childclass="c"/>`, ``): `m.xml:1: <body>: childclass="c" is not in <default>`,
		body(`<body><freejoint/><geom size="1"/></body>`, ``): `m.xml:1: <freejoint>: type free: want it alone, on a ` +
			`child of the world`,
		body(`<body><joint/></body>`, ``): `m.xml:1: <body>: it moves and has no mass: give ` +
			`it a geom or an <inertial>`,
		body(`<body><joint/><geom size=".1" mass="0"/></body>`, ``): `m.xml:1: <body>: it moves and has no ` +
			`mass: give it a geom or an <inertial>`,
		body(`<geom size="1e200"/>`, ``): `m.xml:1: <body name="b">: mass +Inf, ` +
			`inertia [NaN NaN NaN]: want finite numbers`,
		body(`<inertial pos="0 0 0" mass="-1"/>`, ``): `m.xml:1: <inertial>: mass -1, inertia [0 ` +
			`0 0]: want at least 0`,
		body(`<inertial mass="1"/>`, ``): `m.xml:1: <inertial>: want pos and mass`,
		body(`<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>`, ``): `m.xml:1: <body name="b">: inertia [1 ` +
			`1 9]: no body has it, as the largest is more than the ` +
			`other two together`,
		body(`<geom type="box" size="1 1 1"/>`, ``): `m.xml:1: <geom>: contacts of type="box" are not ` +
			`supported: want plane, sphere, capsule or ` +
			`cylinder, or contype="0" and conaffinity="0"`,
		body(`<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>`, ``): `m.xml:1: <body name="b">: the ` +
			`mass of a mesh is not computed: give the body an <inertial>, or ` +
			`the geom mass="0"`,
		body(`<geom type="torus"/>`, ``): `m.xml:1: <geom>: type="torus" is not supported: want plane, sphere, ` +
			`capsule, cylinder, box, ` +
			`ellipsoid, mesh, hfield, sdf`,
		body(`<geom type="capsule" size=".1"/>`, ``): `m.xml:1: <geom>: it has ` +
			`1 sizes: a capsule wants 2, above 0`,
		body(`<geom size="-1"/>`, ``): `m.xml:1: <geom>: ` +
			`size="-1": want numbers above 0`,
		body(`<geom type="capsule" size=".1" fromto="0 0 0 1 0 0" pos="0 0 1"/>`,
			``): `m.xml:1: <geom>: it has fromto and pos="0 0 1": want one`,
		body(`<geom size=".1" quat="0 0 0 0"/>`, ``): `m.xml:1: <geom>: ` +
			`quat="0 0 0 0": want a rotation`,
		body(`<geom size=".1" euler="0 0 0" zaxis="0 0 1"/>`, ``): `m.xml:1: <geom>: it has ` +
			`two of quat, axisangle, xyaxes, zaxis, euler: want one`,
		body(`<geom size=".1" gap=".1"/>`, ``): `m.xml:1: <geom>: ` +
			`gap=".1" is not supported: want 0, or leave it out`,
		body(`<geom size=".1" condim="4"/>`, ``): `m.xml:1: <geom>: ` +
			`condim 4 for contacts with geom "floor": want 1 or 3`,
		body(`<geom type="plane" size="1 1 1"/>`,
			`<worldbody><body><joint/><geom size="1"/></body></worldbody>`): `m.xml:1: <geom name="floor">: ` +
			`contact of a plane with geom 2 of body "b", a plane: want one of plane with sphere, plane with capsule, ` +
			`plane with cylinder, sphere with sphere, sphere with capsule, capsule with capsule, capsule with ` +
			`cylinder, or no contact (contype, conaffinity)`,
		body(`<body><joint/><geom type="cylinder" size=".1 .1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>`+
			`</body>`, ``): `m.xml:1: <geom>: a cylinder that may touch geom "floor", a plane: want it to ` +
			`slide along the plane only, or no contact (contype, conaffinity)`,
		`<mujoco><worldbody><body><freejoint name="f"/><geom size="1"/></body></worldbody>` + "\n" +
			`<actuator>` + "\n" + `<motor joint="f"/></actuator></mujoco>`: `m.xml:3: <motor>: joint "f" is a free ` +
			`one: want a hinge or a slide`,
		body(``, `<equality><weld body1="b"/></equality>`): `m.xml:1: ` +
			`<weld>: <equality> is not supported: leave it out`,
		body(``, `<tendon><fixed stiffness="1"><joint joint="j" coef="1"/></fixed></tendon>`): `m.xml:1: ` +
			`<fixed>: stiffness="1" is not supported: want 0, or leave it out`,
		body(``, `<tendon><spatial/></tendon>`): `m.xml:1: ` +
			`<spatial>: it is not supported: leave it out`,
		body(``, `<actuator><motor joint="k"/></actuator>`): `m.xml:1: ` +
			`<motor>: joint="k": no joint has this name; other ways to act are not supported`,
		body(``, `<actuator><muscle joint="j"/></actuator>`): `m.xml:1: ` +
			`<muscle>: it is not supported: leave it out`,
		body(``, `<actuator><general joint="j" dyntype="filter"/></actuator>`): `m.xml:1: ` +
			`<general>: dyntype="filter" is not supported: want none, or leave it out`,
		body(``, `<actuator><general joint="j" gaintype="affine"/></actuator>`): `m.xml:1: ` +
			`<general>: gaintype="affine" is not supported: want fixed`,
		body(``, `<contact><exclude body1="b" body2="c"/></contact>`): `m.xml:1: ` +
			`<exclude>: body2="c": no body has this name`,
		body(``, `<contact><pair geom1="g" geom2="h"/></contact>`): `m.xml:1: ` +
			`<pair>: geom2="h": no geom has this name`,
		body(``, `<contact><pair geom1="g" geom2="floor" condim="1"/></contact>`): `m.xml:1: <pair>: its ` +
			`contact has condim 1, friction [1 1], solref [0.02 1], solimp [0.9 0.95 ` +
			`0.001 0.5 2] and margin 0, and not those of geom "floor": want the same for the pair and its ` +
			`geoms, and margin 0`,
		body(``, `<option cone="elliptic"/>`): `m.xml:1: <option>: ` +
			`cone="elliptic" is not supported: want pyramidal, or leave it out`,
		body(``, `<option integrator="implicit"/>`): `m.xml:1: <option>: ` +
			`integrator="implicit" is not supported: want Euler, RK4`,
		body(``, `<option impratio="2"/>`): `m.xml:1: <option>: ` +
			`impratio 2: want 1`,
		body(``, `<option timestep="0"/>`): `m.xml:1: <option>: ` +
			`timestep 0: want more than 0`,
		body(``, `<option><flag actuation="disable"/></option>`): `m.xml:1: <flag>: ` +
			`actuation="disable" is not supported: want enable, or leave it out`,
		body(``, `<compiler eulerseq="abc"/>`): `m.xml:1: ` +
			`<compiler>: eulerseq="abc": want three of x, y, z, X, Y, Z`,
		body(``, `<default><default class="a"/><default class="a"/></default>`): `m.xml:1: <default>: ` +
			`class="a": want a name that no other class has`,
		body(``, `<default><muscle/></default>`): `m.xml:1: <muscle>: ` +
			`it is not supported: leave it out`,
		`<mujoco><worldbody><joint/></worldbody></mujoco>`: `m.xml:1: <joint>: ` +
			`the world has no joints: put it into a <body>`,
		`<mujoco><include file="none.xml"/></mujoco>`: `m.xml:1: <include>: file="none.xml": file ` +
			`does not exist`,
		`<mujoco><include file="/etc/m.xml"/></mujoco>`: `m.xml:1: <include>: ` +
			`want file=PATH, relative to the folder of the model, inside of <mujoco>`,
		`<mujoco><include file="m.xml"/></mujoco>`: `m.xml:1: <include>: ` +
			`file="m.xml": it is read already, and a file is included once`,
		`<mujoco><include file="other.xml"/></mujoco>`: `other.xml:2: ` +
			`<include>: file="m.xml": it is read already, and a file is included once`,
		`<mujoco><worldbody>` + strings.Repeat(`<body>`, 2000): `m.xml:1: <body>: ` +
			`elements are 1000 deep: want less`,
		`<mujoco><worldbody>` + strings.Repeat(`<body/>`, 1000) + `</worldbody></mujoco>`: `m.xml:1: <body>: ` +
			`the model has more than 500 bodies: want less`,
		`<mujoco><worldbody>` + strings.Repeat(`<body><freejoint/><geom size="1"/></body>`, 40) +
			`</worldbody></mujoco>`: `m.xml: model: a step takes about 90 million operations, for 240 degrees of ` +
			`freedom and 3120 rows of contacts between geoms that both move: want at most 10 million (contype, ` +
			`conaffinity and <exclude> leave pairs out)`,
		`<mujoco>` + strings.Repeat(" ", 16<<20): `m.xml: it has 16777224 bytes: want at most 16777216`,
		body(strings.Repeat(`<geom size="1"/>`, 3000), ``): `m.xml:1: <geom>: ` +
			`the model has more than 2000 geoms: want less`,
	} {
		_, err := read(text, "<x>\n<include file=\"m.xml\"/></x>")
		require.EqualError(t, err, want, "%.300s", text)
	}
}

// No document panics, and what is read can be computed with.
func FuzzMJCF(f *testing.F) {
	names, err := os.ReadDir("bodies/mjcf/testdata/features")
	require.NoError(f, err)
	for _, n := range names {
		if !n.IsDir() {
			text, err := os.ReadFile("bodies/mjcf/testdata/features/" + n.Name())
			require.NoError(f, err)
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := read(string(bytes.ReplaceAll(text, []byte("parts/"), nil)), "<mujocoinclude/>")
		if err == nil {
			require.NoError(t, m.Check())
		}
	})
}
