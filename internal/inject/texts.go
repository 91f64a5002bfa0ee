package inject

// Reasons for which a pod is refused. The person who creates the pod reads them.
const (
	textAnnotation        = "the annotation %s: %w"
	textPortNumber        = "%s is a number: give the port of the container a name, and use that name here and as the targetPort of its Services. A Service with a number as its targetPort bypasses Holdpoint"
	textAgentForm         = "want container/port, the name of the agent's container and the name of its port, such as agent/http, got %s"
	textAddressForm       = "want the agent's variable with the address to listen on, such as HOST, or %s if the agent listens there already, got %s"
	textPathForm          = "want the path of the agent, such as /agent, got %s"
	textVolumeForm        = "want the name of a volume of the pod, got %s"
	textMemoryForm        = "want a limit in Mi or Gi of at least %dMi, such as 512Mi, got %s"
	textUnknownAnnotation = "the injector has no such annotation, want one of %s, %s… or %s…"
	textWithoutPrefix     = "want the variable without %s: %s%s"
	textOwnVariable       = "%s%s is the injector's own: %s"
	textSecretInText      = "a secret does not belong into an annotation: %s%s takes the Secret and its key, such as name/key"
	textNotAllowed        = "%s%s cannot be set by an annotation"
	textNoDesk            = "a sidecar has no desk of its own, want elsewhere"
	textStoreAddress      = "it is not an address"
	textStoreFile         = "a store in a file needs a volume: %s names a volume of the pod"
	textPassword          = "a password does not belong into an annotation: %sSTORE_PASSWORD takes the Secret and its key, such as name/key"
	textSecretNames       = "want one of %s, each with %s before it"
	textSecretForm        = "want the name of a Secret of the pod's namespace and a key of it, such as name/key"
	textTwoStores         = "%s and %sSTORE are both set: want one place for open questions"
	textNotLoopback       = "its value %s is neither an address nor host:port"
	textUnusedAnnotation  = "the annotation %s is set, and %s is not: want container/port of the agent, such as agent/http"
	textHostNetwork       = "the pod has hostNetwork: Holdpoint's ports would be ports of the node, and every process of the node could reach the agent at 127.0.0.1"
	textNotLinux          = "the pod is not for Linux, and Holdpoint's image is"
	textNoContainer       = "%s names the container %q, but the pod has %s"
	textNoPort            = "%s names the port %q, but the container %s has %s: give its port this name, and use it as the targetPort of its Services"
	textNoNumber          = "the port %s of %s has no number"
	textNotTCP            = "the port %s of %s is for %s, and Holdpoint speaks HTTP over TCP"
	textHostPort          = "the port %s of %s has a hostPort, which bypasses Holdpoint: leave it out"
	textTwoPorts          = "two containers have a port %s, %s and %s: a Service would lead to either of them"
	textSameNumber        = "two ports have the number %d, %s of %s and one of %s: only one container can have it"
	textOwnPort           = "the container %s has the port %d, which Holdpoint's sidecar takes (%d for runs, %d for probes): want another number"
	textProbe             = "the %s of %s uses port %d, which the kubelet cannot reach on %s: use one with exec, or leave %s out"
	textValueFrom         = "the variable %s of %s takes its value from elsewhere, so the injector cannot change it: set a value in the pod"
	textAddressValue      = "the variable %s of %s: %w"
	textNoStart           = "the sidecar would not start: %w"
	textGracePeriod       = "terminationGracePeriodSeconds is %d: that leaves open streams no time after the 5 seconds of a clean end"
	textVolumeName        = "the pod has a volume %s, whose name the injector uses itself: give it another name"
	textNoGroup           = "the pod has no securityContext.fsGroup, so Holdpoint's user %d cannot write to the volume %s: set it, such as to %d"
	textNoVolume          = "the annotation %s names the volume %s, but the pod has no volume of that name"
)

// Warnings, which the person who creates the pod reads.
const (
	textSidecarThere = "the pod has a container %s already and was not changed. That container has no port %s, so a Service may bypass it"
	textOpenPort     = "port %d of %s can be reached without Holdpoint, also by a Service with this number as targetPort. Set %s"
	textOwnProbe     = "%s keeps its own readinessProbe: it must fail until the agent accepts runs"
	textOwnHook      = "%s keeps its own preStop hook: it must last until GET http://%s:%d/drained has answered, or open streams lose their agent"
)

// Reasons for which a pod is not changed, and errors of a request that is not a review.
const (
	textNoAnnotation = "it has no annotation %s"
	textHasSidecar   = "it has a container %s already"
	textMirror       = "it is a mirror pod of a kubelet, which cannot be changed"
	textSubresource  = "the request is for a subresource of a pod that exists already"
	textExists       = "the containers of a pod that exists already cannot be changed"
	textNotCorePod   = "it is not a pod of v1"
	textNotJSON      = "the body is not valid JSON"
	textOtherKind    = "want an %s of %s, got kind %s of apiVersion %s"
	textNoUID        = "the review has no request.uid, so no answer can name it"
	textNoObject     = "the review has no request.object"
)

// Why a variable cannot be set in the annotations. Each follows the name of the variable.
const (
	textFromAgent       = "it is made of " + agentAnnotation + " and " + pathAnnotation
	textFromMemory      = "it is made of " + memoryAnnotation
	textFixedPort       = "the sidecar's port is fixed"
	textProbesPort      = "the kubelet's probes ask there"
	textFromGracePeriod = "it is made of the pod's terminationGracePeriodSeconds"
)

// textNoNames stands for an empty list of names in these texts.
const textNoNames = "none with a name"
