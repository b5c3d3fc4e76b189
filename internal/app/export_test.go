package app

// OperatorChecks are the checks that the operator is notified of.
var OperatorChecks = operatorChecks
