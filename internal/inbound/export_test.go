package inbound

// What the tests of the package inbound_test use.
var PeopleIn = peopleIn
