package mjcf

import "strings"

// spec says what an element may hold.
type spec struct {
	read     []string          // attributes that are honoured
	skip     []string          // those that change nothing here: how it looks, what it is called, how a solver is tuned
	only     map[string]string // those that have one value, which is also the value if they are not given
	children []string
}

// skipped are elements that do not change the dynamics.
var skipped = strings.Fields("asset visual statistic size sensor keyframe custom camera light texture material skin")

const (
	place  = "pos quat axisangle xyaxes zaxis euler "
	touch  = "condim friction solref solimp margin "
	drive  = "name class joint gear ctrllimited ctrlrange forcelimited forcerange "
	driven = `group user lengthrange cranklength
		| dyntype=none ctrldelay=0 actlimited=false actrange=0 actearly=false delay=0 nsample=0 `
)

// elements is the table: honoured attributes | skipped | the only value of others | children.
var elements = table(map[string]string{
	"mujoco": `| model | | compiler option default worldbody contact actuator tendon equality deformable extension
		include`,
	"include": `file`,
	"compiler": `angle autolimits inertiafromgeom inertiagrouprange balanceinertia settotalmass boundmass boundinertia
		eulerseq
		| meshdir texturedir assetdir strippath convexhull discardvisual usethread exactmeshinertia saveinertial
		conflict
		| coordinate=local fusestatic=false alignfree=false
		| lengthrange`,
	"option": `timestep impratio density viscosity integrator gravity
		| jacobian solver iterations tolerance ls_iterations ls_tolerance ccd_iterations ccd_tolerance mpr_iterations
		mpr_tolerance sdf_iterations sdf_initpoints noslip_tolerance magnetic o_margin o_solref o_solimp o_friction
		sleep_tolerance apirate
		| wind=0 cone=pyramidal noslip_iterations=0 actuatorgroupdisable=0
		| flag`,
	"flag": `gravity contact limit filterparent constraint
		| warmstart midphase sensor energy fwdinv island nativeccd multiccd autoreset equality frictionloss invdiscrete
		sleep diagexact
		| passive=enable spring=enable damper=enable clampctrl=enable actuation=enable refsafe=enable eulerdamp=enable
		override=disable`,
	"default":   `class`,
	"worldbody": `childclass | name | | body geom site joint freejoint`,
	"body": `name childclass ` + place + `
		| user sleep
		| mocap=false gravcomp=0
		| body joint freejoint geom site inertial`,
	"inertial":  place + `mass diaginertia fullinertia`,
	"freejoint": `name | group | align=false`,
	"joint": `name class type pos axis range limited ref springref stiffness damping armature margin solreflimit
		solimplimit
		| group user solreffriction solimpfriction urdfname
		| frictionloss=0 springdamper=0 actuatorfrcrange=0 actuatorfrclimited=false actuatorgravcomp=false`,
	"geom": `name class type size fromto contype conaffinity priority mass density group solmix ` + touch + place + `
		| rgba material user mesh hfield fluidcoef fitscale
		| gap=0 fluidshape=none shellinertia=false`,
	"site":     `name class fromto size ` + place + `| type rgba material user group`,
	"contact":  `| | | pair exclude`,
	"pair":     `geom1 geom2 class condim margin friction solref solimp | name | gap=0 solreffriction=0`,
	"exclude":  `body1 body2 | name`,
	"actuator": `| | | motor position velocity general damper intvelocity muscle cylinder adhesion plugin dcmotor`,
	"motor":    drive + `| ` + driven,
	"position": drive + `kp kv | ` + driven + `dampratio=0 timeconst=0 inheritrange=0`,
	"velocity": drive + `kv | ` + driven,
	"general":  drive + `gaintype biastype gainprm biasprm | dynprm ` + driven,
	"tendon":   `| | | fixed spatial`,
	"fixed": `name class
		| group user rgba width material sidesites solreffriction solimpfriction springlength margin solreflimit
		solimplimit
		| limited=false range=0 actuatorfrclimited=false frictionloss=0 stiffness=0 damping=0 armature=0
		| joint`,
})

func table(rows map[string]string) map[string]spec {
	out := map[string]spec{}
	for name, row := range rows {
		parts := append(strings.Split(row, "|"), "", "", "")
		s := spec{strings.Fields(parts[0]), strings.Fields(parts[1]), map[string]string{}, strings.Fields(parts[3])}
		for _, pair := range strings.Fields(parts[2]) {
			key, value, _ := strings.Cut(pair, "=")
			s.only[key] = value
		}
		out[name] = s
	}
	return out
}
