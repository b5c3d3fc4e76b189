package script

import (
	"errors"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/plugins/jsvm"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/extension"
)

// file is a file of hooks. PocketBase's plug-in runs it once in a runtime that binds the hooks, each by its source
// text, and runs the hooks in others.
type file struct {
	app    core.App
	name   string
	source string
}

// The names of what a runtime has beside PocketBase's globals.
const (
	argsName   = "__args" // PocketBase's, set before a hook runs, and set to undefined when it has ended
	failedName = "__contactbaseFailed"
)

// prepare prepares a runtime. PocketBase sets its own globals afterwards.
func (f *file) prepare(vm *goja.Runtime) {
	r := &run{file: f, vm: vm}
	f.bindEvents(vm)
	define := func(name string, changed func(goja.Value) goja.Value) {
		value := goja.Undefined()
		get := vm.ToValue(func(goja.FunctionCall) goja.Value { return value })
		set := vm.ToValue(func(call goja.FunctionCall) goja.Value {
			value = changed(call.Argument(0))
			return goja.Undefined()
		})
		_ = vm.GlobalObject().DefineAccessorProperty(name, get, set, goja.FLAG_TRUE, goja.FLAG_FALSE) // it is a new property
	}
	_ = vm.Set(failedName, r.failed)
	define(argsName, func(args goja.Value) goja.Value {
		r.end()
		if !goja.IsUndefined(args) {
			r.begin(args.Export())
		}
		return args
	})
	for _, name := range binders(f.app) {
		define(name, func(bind goja.Value) goja.Value { return r.locating(bind) })
	}
}

// binders returns the names of the functions by which JavaScript binds hooks, routes and jobs.
func binders(app core.App) []string {
	names := []string{"cronAdd", "routerAdd", "routerUse"}
	typed := reflect.TypeOf(app)
	for method := range typed.Methods() {
		if strings.HasPrefix(method.Name, "On") && method.Name != "OnServe" {
			names = append(names, jsvm.FieldMapper{}.MethodName(typed, method))
		}
	}
	return names
}

// locating returns a function that binds as the given one does, with functions whose errors name the file and line.
func (r *run) locating(bind goja.Value) goja.Value {
	original, ok := goja.AssertFunction(bind)
	if !ok {
		return bind
	}
	return r.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		for i, argument := range call.Arguments {
			if _, isScript := argument.Export().(func(goja.FunctionCall) goja.Value); isScript {
				call.Arguments[i] = r.vm.ToValue(r.located(argument.String()))
			}
		}
		result, err := original(call.This, call.Arguments...)
		if err != nil {
			panic(err) // as the original function does
		}
		return result
	})
}

// located returns the source text of a function that calls the one with the given text, whose lines have the numbers
// that they have in the file.
func (r *run) located(text string) string {
	begin := 0 // of the line that binds it
	if stack := r.vm.CaptureCallStack(2, nil); len(stack) > 1 {
		for range stack[1].Position().Line - 1 {
			begin += strings.IndexByte(r.file.source[begin:], '\n') + 1
		}
	}
	at := strings.Index(r.file.source[begin:], text)
	if at < 0 {
		begin, at = 0, strings.Index(r.file.source, text)
	}
	lines := strings.Count(r.file.source[:begin+max(at, 0)], "\n")
	return "function() { try { return (" + strings.Repeat("\n", lines) + text +
		").apply(undefined, arguments) } catch (err) { throw " + failedName + "(err) } }"
}

// run is a runtime that runs one hook at a time.
type run struct {
	file *file
	vm   *goja.Runtime

	mu    sync.Mutex
	timer *time.Timer // that interrupts what runs; nil for none
}

// begin interrupts a hook that takes too long for the other writes, which wait for its transaction.
func (r *run) begin(args any) {
	list, _ := args.([]any)
	if len(list) == 0 {
		return
	}
	field := reflect.Indirect(reflect.ValueOf(list[0])).FieldByName("App")
	if !field.IsValid() {
		return
	}
	app, ok := field.Interface().(core.App)
	if !ok || !app.IsTransactional() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(extension.Longest, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer == timer {
			r.vm.Interrupt(&extension.Failure{File: r.file.name, Err: extension.ErrTooLong})
		}
	})
	r.timer = timer
}

func (r *run) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
		r.vm.ClearInterrupt()
	}
}

// position matches a line in the stack of an error.
var position = regexp.MustCompile(`\bpb\.js:(\d+):\d+`)

// failed returns what to throw instead of a value that a hook has thrown: an error that names the file. Errors for the
// client and those that name one stay.
func (r *run) failed(call goja.FunctionCall) goja.Value {
	thrown := call.Argument(0)
	var cause error
	switch v := thrown.Export().(type) {
	case error:
		cause = v
	case map[string]any: // an error of Go, thrown by a function of it
		cause, _ = v["value"].(error)
	}
	if cause == nil {
		cause = errors.New(thrown.String())
	}
	var located *extension.Failure
	var routed *router.ApiError
	var invalid validation.Errors
	var single validation.Error
	if errors.As(cause, &located) || errors.As(cause, &routed) && routed.Status < 500 ||
		errors.As(cause, &invalid) || errors.As(cause, &single) {
		return thrown
	}
	failure := &extension.Failure{File: r.file.name, Err: cause}
	if object, ok := thrown.(*goja.Object); ok {
		if stack := object.Get("stack"); stack != nil {
			if found := position.FindStringSubmatch(stack.String()); found != nil {
				failure.Line, _ = strconv.Atoi(found[1])
			}
		}
	}
	failure.Logged = true
	r.file.app.Logger().Error("a hook failed", "hook", failure.Place(), "error", failure)
	return r.vm.ToValue(failure)
}
