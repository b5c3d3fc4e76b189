/*
 * The failover protocol of internal/replica: two machines with --lease, and one store. docs/failover-model.md explains it.
 *
 * Sync mode is the default, -DASYNC the other one. The correct model has no further define. Each define that a comment calls a "mutant"
 * is a fault that the search must find.
 *
 * After "code:", a comment names what holds the variable or does the step in the program, and TestModelNamesTheCode checks that it exists.
 */

#define MACHINES 2
#ifndef GENERATIONS
#define GENERATIONS 2
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef FAULTS
#define FAULTS 0 /* kills, lost disks, slow clocks, and requests that are lost, late or repeated, in one run */
#endif
#define TRANSACTIONS (WRITES + 1) /* of a generation: its snapshot, and at most every write */
#define UNUSABLE 15               /* code: replica.unusable */
#define NONE 0                    /* a folder that no machine has (any more) */

#define LEASE 2 /* ticks that a standby waits. code: replica.Config.Lease */
#ifdef NO_MARGIN /* mutant: the holder counts the whole lease */
#define HELD LEASE
#else
#define HELD 1 /* ticks that the holder counts on. code: replica.lease.extend */
#endif

/* code: replica.lockRecord */
typedef Record {
	byte generation; /* code: replica.lockRecord.Generation */
	byte position;   /* code: replica.lockRecord.Position */
	byte fromGeneration; /* code: replica.lockRecord.From, replica.Position.Generation */
	byte from;       /* code: replica.lockRecord.From, replica.Position.Transaction */
	byte folder;     /* machine + 1. code: replica.lockRecord.Folder */
	bit unshipped;   /* code: replica.lockRecord.Unshipped */
	bit released     /* code: replica.lockRecord.Released */
};

/* The store. */
Record lock;               /* lock.json; generation 0 if it does not exist. code: replica.lockName */
byte newest[GENERATIONS+1];  /* last transaction in the store. code: shipping.Extent.Newest */
byte compacted[GENERATIONS+1]; /* the part that other levels than 0 have, too. code: shipping.Files.Extent */
#define CONTENT(g, n) content[(g) * (TRANSACTIONS + 1) + (n)]
byte content[(GENERATIONS+1) * (TRANSACTIONS+1)]; /* set of writes in the database as of a transaction. code: shipping.Uploader.DB */

/* What a machine has on its disk. */
byte data[MACHINES];       /* set of writes. code: replica.dataFile */
byte own[MACHINES];        /* code: replica.identity.Generation */
byte localLast[MACHINES];      /* last transaction of the files beside the database. code: replica.Replica.localPosition */

/* What the process of a machine knows. */
mtype = { down, following, ready, taking, catchingUp, serving, releasing }; /* code: replica.standby.acquire, replica.standby.takeOver, replica.Replica.Stop */
mtype state[MACHINES];
bit tag[MACHINES];         /* whether the tag that it has read or got is still that of lock.json. code: replica.lease.tag, replica.standby.acquire */
bit seen[MACHINES];        /* whether lock.json has not changed since it was read. code: replica.standby.tag */
byte waited[MACHINES];     /* ticks since then. code: replica.standby.since */
bit restore[MACHINES];     /* code: replica.standby.restore */
Record found[MACHINES];    /* the record that it replaces. code: replica.standby.take */
Record record[MACHINES];   /* the record that it writes. code: replica.lease.record */
byte until[MACHINES];      /* ticks for which the lease is held. code: replica.lease.until */
byte written[MACHINES];    /* code: replica.written.position */
bit recorded[MACHINES];    /* code: replica.written.recorded */

/* Requests under way. */
mtype = { idle, sent, succeeded, changed };
mtype request[MACHINES];   /* that replaces lock.json by record. code: replica.lease.rewrite, store.Store.Swap */
bit requestTag[MACHINES];  /* whether its condition, or the tag in its response, is that of lock.json. code: store.ErrChanged */
byte age[MACHINES];        /* ticks since it was sent. code: replica.lease.extend */
bit uploading[MACHINES];   /* code: shipping.Files.WriteLTXFile */
byte uploadTo[MACHINES];   /* its generation. code: shipping.NewFiles */
byte upload[MACHINES];     /* its transaction. code: shipping.Uploader.upload */
bit stray;                 /* a request for lock.json whose sender has given up, and which arrives late */
Record strayRecord;

/* What the invariants are about; no machine knows it. */
byte made;                 /* number of writes that were committed. code: sqlite.PreCommit */
byte acknowledged;         /* set of acknowledged writes. code: replica.Replica.Acknowledge */
byte kept;                 /* set of writes that no serving machine may lack */
byte faults;               /* number of faults so far */
byte sinceSkip;            /* ticks since a clock was slow */

#define HOLDS(i) (until[i] > 0) /* code: replica.Replica.Holds, replica.lease.held */
#define SERVES(i) (state[i] == serving && HOLDS(i))
#define BEFORE(g, n, h, m) ((g) < (h) || (g) == (h) && (n) < (m)) /* code: replica.Position.before */

#ifdef NO_FENCING /* mutant: nobody looks at the lease after the upload */
#define LOOKS(i) true
#else
#define LOOKS(i) HOLDS(i)
#endif
#ifdef ASYNC
#define MAY_ACKNOWLEDGE(i) (state[i] == serving && LOOKS(i))
#define ACKNOWLEDGES(i) data[i]
#define KEPT kept
#else
#ifdef ACKNOWLEDGE_UNRECORDED /* mutant: a generation is used before lock.json says that it has data */
#define MAY_ACKNOWLEDGE(i) (state[i] == serving && LOOKS(i))
#else
#define MAY_ACKNOWLEDGE(i) (state[i] == serving && LOOKS(i) && recorded[i])
#endif
#define ACKNOWLEDGES(i) CONTENT(own[i], written[i])
#define KEPT acknowledged
#endif

inline copyRecord(to, source) {
	to.generation = source.generation; to.position = source.position;
	to.fromGeneration = source.fromGeneration; to.from = source.from;
	to.folder = source.folder; to.unshipped = source.unshipped; to.released = source.released
}

inline clearRecord(target) {
	target.generation = 0; target.position = 0; target.fromGeneration = 0; target.from = 0; target.folder = NONE; target.unshipped = 0; target.released = 0
}

/* replaced is called after lock.json was written: all tags that machines have are old. */
inline replaced() {
	tag[0] = 0; tag[1] = 0; seen[0] = 0; seen[1] = 0; requestTag[0] = 0; requestTag[1] = 0;
	stray = 0; clearRecord(strayRecord); /* it would be refused */
#ifdef ASYNC /* what a record says is in the store, and what it says is missing there, must not be lost */
	if
	:: lock.position > 0 -> kept = kept | (acknowledged & CONTENT(lock.generation, lock.position))
	:: else
	fi;
	if
	:: lock.unshipped && lock.folder != NONE -> kept = kept | (acknowledged & data[lock.folder - 1])
	:: else
	fi
#endif
}

/*
 * list sets n to the last transaction of a generation that a listing shows. A store that fails, or answers 404 without saying that the
 * object does not exist, is asked again. code: store.Retrying
 */
inline list(in, shown) {
	floor = (in == lock.generation -> lock.position : (in == lock.fromGeneration -> lock.from : 0));
	if
	:: shown = newest[in]
#ifdef TRUST_404 /* mutant: a level whose listing is answered with 404 is taken to be empty */
	:: shown = compacted[in]
#endif
#ifdef NO_POSITION_CHECK /* the store hides the same files again */
	:: newest[in] > 0 && in == lock.fromGeneration -> shown = floor
#endif
#ifdef STALE_LISTING /* the documented gap: a listing lacks files that lock.json does not know of */
	:: newest[in] > 0 -> shown = newest[in] - 1
#endif
	:: newest[in] > 0 -> shown = (floor > 1 -> floor - 1 : 0) /* it hides files that lock.json knows of, or everything */
	fi
}

/* restorePosition sets atG and at, and ok unless that is an error. code: replica.Replica.restorePosition */
inline restorePosition(i) {
	atG = found[i].generation;
	list(atG, at);
	if
	:: at == 0 && found[i].position == 0 ->
		atG = found[i].fromGeneration;
		if
		:: atG > 0 -> list(atG, at)
		:: else
		fi
	:: else
	fi;
#ifdef NO_POSITION_CHECK /* mutant: whatever the store has is good enough */
	ok = (at > 0)
#else
	acknowledgedBy(found[i]);
	ok = (at > 0 && !found[i].unshipped && !BEFORE(atG, at, g, n))
#endif
}

/* acknowledgedBy sets g and n. code: replica.lockRecord.acknowledged */
inline acknowledgedBy(r) {
	if
	:: r.position == 0 -> g = r.fromGeneration; n = r.from
	:: else -> g = r.generation; n = r.position
	fi
}

/* send sends the record to the store, under the condition that lock.json is what this machine knows. */
inline send(i) { request[i] = sent; requestTag[i] = tag[i]; age[i] = 0 }

/* answered forgets a request. */
inline answered(i) { request[i] = idle; requestTag[i] = 0; age[i] = 0 }

/* abandon forgets a request too, but it may still arrive. */
inline abandon(i) {
	if
	:: request[i] == sent && requestTag[i] && !stray -> stray = 1; copyRecord(strayRecord, record[i])
	:: true
	fi;
	answered(i)
}

/* extend counts the lease from before the request. code: replica.lease.extend */
inline extend(i) { until[i] = (age[i] < HELD -> HELD - age[i] : 0) }

/* forget ends the process. */
inline forget(i) {
	abandon(i);
	state[i] = down; tag[i] = 0; seen[i] = 0; waited[i] = 0; restore[i] = 0; until[i] = 0; written[i] = 0; recorded[i] = 0;
	clearRecord(found[i]); clearRecord(record[i])
}

/* standBy goes back to following. */
inline standBy(i) { state[i] = following; restore[i] = 0; tag[i] = 0; clearRecord(found[i]); clearRecord(record[i]) }

/* changeFolder gives a data directory without identity a new one. code: replica.Replica.readIdentity */
inline changeFolder(i) {
	if
	:: own[i] == 0 && lock.folder == i + 1 -> lock.folder = NONE
	:: else
	fi;
	if
	:: own[i] == 0 && strayRecord.folder == i + 1 -> strayRecord.folder = NONE
	:: else
	fi
}

proctype machine(byte i) {
	byte atG, at, g, n, floor;
	bit ok;
	do
	/* code: replica.Replica.RunStandby */
	:: d_step { state[i] == down -> changeFolder(i); state[i] = following }

	/* code: replica.standby.acquire, replica.standby.isFree, replica.Replica.readLock */
	:: d_step { state[i] == following && !seen[i] -> seen[i] = 1; waited[i] = 0 }

	/* code: replica.standby.origin, replica.Replica.storedPosition, replica.identity.wrote */
	:: atomic { state[i] == following && seen[i] && (lock.released || waited[i] == LEASE) && lock.generation < GENERATIONS ->
		copyRecord(found[i], lock); tag[i] = 1; restore[i] = 1; ok = 1;
		if
		:: own[i] > 0 && own[i] != UNUSABLE && lock.folder == i + 1 ->
			list(lock.generation, at);
			acknowledgedBy(lock);
			if
			:: at > 0 && BEFORE(g, n, lock.generation, at) -> atG = lock.generation
			:: else -> atG = g; at = n
			fi;
			restore[i] = BEFORE(own[i], localLast[i], atG, at)
		:: else
		fi;
		if
		:: restore[i] -> restorePosition(i)
		:: else
		fi;
		if
		:: ok ->
			record[i].generation = lock.generation + 1; /* code: replica.Replica.nextGeneration */
			record[i].fromGeneration = atG; record[i].from = at; record[i].folder = i + 1;
#ifndef FORGET_UNSHIPPED /* mutant: the next generation does not know what the store lacks of the last one */
			record[i].unshipped = lock.unshipped;
#endif
			state[i] = ready; waited[i] = 0
		:: else -> standBy(i)
		fi;
		atG = 0; at = 0; g = 0; n = 0; floor = 0; ok = 0 }

	/* code: replica.standby.take, replica.Replica.writeLock */
	:: d_step { state[i] == ready -> send(i); state[i] = taking }
	:: d_step { state[i] == taking && request[i] == succeeded ->
		tag[i] = requestTag[i]; extend(i); answered(i); /* code: replica.newLease */
		state[i] = catchingUp }
	:: d_step { state[i] == taking && request[i] == changed -> answered(i); standBy(i) }

	/* code: replica.standby.catchUp, replica.lease.whileHeld, replica.Replica.beginGeneration */
	:: atomic { state[i] == catchingUp && HOLDS(i) ->
		ok = 1;
		if
		:: restore[i] ->
			restorePosition(i);
#ifndef UNFLOORED /* mutant: it may end before the position that its own record names */
			ok = ok && !BEFORE(atG, at, record[i].fromGeneration, record[i].from)
#endif
		:: else
		fi;
		if
		:: ok && restore[i] -> own[i] = UNUSABLE; localLast[i] = 0; data[i] = CONTENT(atG, at)
		:: else
		fi;
		if
		:: ok -> own[i] = record[i].generation; localLast[i] = 0; restore[i] = 0; clearRecord(found[i]); state[i] = serving
		:: ok && faults < FAULTS -> faults++; forget(i) /* a kill in between */
		:: !ok -> record[i].released = 1; until[i] = 0; state[i] = releasing; clearRecord(found[i]); restore[i] = 0
		fi;
		atG = 0; at = 0; g = 0; n = 0; floor = 0; ok = 0 }
	:: atomic { (state[i] == catchingUp || state[i] == serving) && !HOLDS(i) && request[i] == idle -> forget(i) } /* code: replica.ErrFenced */

	/* A commit may come long after its check, so there is no check here. code: replica.Replica.Start */
	:: d_step { state[i] == serving && made < WRITES -> data[i] = data[i] | (1 << made); made++ }

	/* code: shipping.Uploader.sync, shipping.Uploader.upload */
	:: d_step { state[i] == serving && !uploading[i] && (written[i] < localLast[i] || localLast[i] == 0 || CONTENT(own[i], localLast[i]) != data[i]) ->
		if
		:: localLast[i] == 0 || CONTENT(own[i], localLast[i]) != data[i] -> localLast[i]++; CONTENT(own[i], localLast[i]) = data[i]
		:: else
		fi;
		uploading[i] = 1; uploadTo[i] = own[i]; upload[i] = localLast[i] }
	/* The object is in the store; its response arrives or not. code: store.Store.Put */
	:: atomic { uploading[i] ->
		newest[uploadTo[i]] = (newest[uploadTo[i]] < upload[i] -> upload[i] : newest[uploadTo[i]]);
		if
		:: state[i] == serving && own[i] == uploadTo[i] -> written[i] = upload[i] /* code: replica.Replica.recordUpload */
		:: true
		fi;
		uploading[i] = 0; uploadTo[i] = 0; upload[i] = 0 }
	:: d_step { uploading[i] && faults < FAULTS -> faults++; uploading[i] = 0; uploadTo[i] = 0; upload[i] = 0 } /* it is lost */
#ifdef TRUST_404
	:: d_step { state[i] == serving && compacted[own[i]] < newest[own[i]] -> compacted[own[i]] = newest[own[i]] } /* code: replica.Replica.compact */
#endif

	/* code: replica.Replica.Acknowledge */
	:: d_step { MAY_ACKNOWLEDGE(i) && (ACKNOWLEDGES(i) & ~acknowledged) -> acknowledged = acknowledged | ACKNOWLEDGES(i); kept = KEPT }

	/* code: replica.lease.renew, replica.lease.keep */
	:: d_step { (state[i] == catchingUp || state[i] == serving) && request[i] == idle &&
		(until[i] < HELD || record[i].position != written[i]) ->
		record[i].position = written[i];
		record[i].unshipped = record[i].unshipped && written[i] == 0;
		send(i) }
	:: d_step { (state[i] == catchingUp || state[i] == serving) && request[i] == succeeded ->
		tag[i] = requestTag[i]; extend(i); answered(i);
		recorded[i] = recorded[i] || record[i].position > 0 }
	/* Another machine has written it, or this one by a request without a response. code: replica.lease.rewrite */
	:: atomic { state[i] != taking && request[i] == changed ->
		answered(i);
		if
		:: lock.generation == record[i].generation && lock.folder == i + 1 ->
			tag[i] = 1;
			if
			:: state[i] == releasing -> send(i)
			:: else
			fi
		:: else -> forget(i)
		fi }

	/* A stop, after everything is in the store or not. code: replica.Replica.Stop, replica.Replica.releaseLock, replica.lease.release */
	:: d_step { state[i] == serving && HOLDS(i) && request[i] == idle ->
		record[i].position = written[i]; record[i].released = 1; until[i] = 0;
#ifdef ASYNC /* code: shipping.Uploader.Missing */
		record[i].unshipped = record[i].unshipped && written[i] == 0 || (written[i] == 0 || CONTENT(own[i], written[i]) != data[i]) && data[i] != 0;
#endif
		state[i] = releasing; written[i] = 0; recorded[i] = 0 }
	:: d_step { state[i] == releasing && request[i] == idle -> send(i) }
	:: atomic { state[i] == releasing && request[i] == succeeded -> forget(i) }

	/* A request has no response in time. It may have arrived, or may arrive later. */
	:: atomic { request[i] == sent && faults < FAULTS ->
		faults++;
		abandon(i);
		if
		:: state[i] == taking -> standBy(i)
		:: state[i] == releasing -> forget(i)
		:: else
		fi }

	/* A kill, with or without the loss of the disk. */
	:: atomic { state[i] != down && state[i] != following && faults < FAULTS -> faults++; forget(i);
		if
		:: data[i] = 0; own[i] = 0; localLast[i] = 0
		:: true
		fi }
	od
}

/* The store gets a request for lock.json. It may be repeated on its way, so that the response is that of the second. code: store.ErrChanged */
active proctype store() {
	byte i;
	do
	:: atomic { (request[0] == sent || request[1] == sent) ->
		if
		:: request[0] == sent -> i = 0
		:: request[1] == sent -> i = 1
		fi;
		if
#ifdef UNCONDITIONAL /* mutant: lock.json is replaced whatever it is */
		:: true ->
#else
		:: requestTag[i] ->
#endif
			copyRecord(lock, record[i]);
			replaced();
			if
			:: request[i] = succeeded; requestTag[i] = 1
			:: faults < FAULTS -> faults++; request[i] = changed
			fi
#ifndef UNCONDITIONAL
		:: else -> request[i] = changed
#endif
		fi;
		i = 0 }
	:: d_step { stray -> copyRecord(lock, strayRecord); replaced() }
	:: d_step { stray -> stray = 0; clearRecord(strayRecord) } /* it is lost */
	od
}

/* passes moves the clock of a machine. */
inline passes(i) {
	until[i] = (until[i] > 0 -> until[i] - 1 : 0);
	age[i] = (request[i] != idle && age[i] < HELD -> age[i] + 1 : age[i])
}

/* Time passes. One of the clocks of holders may miss a tick in LEASE. code: replica.clock */
active proctype clock() {
	do
	:: atomic {
		if
		:: passes(0); passes(1); sinceSkip = (sinceSkip > 0 -> sinceSkip - 1 : 0)
		:: sinceSkip == 0 && faults < FAULTS -> faults++; passes(0); sinceSkip = LEASE
		:: sinceSkip == 0 && faults < FAULTS -> faults++; passes(1); sinceSkip = LEASE
		fi;
		waited[0] = (state[0] == following && seen[0] && waited[0] < LEASE -> waited[0] + 1 : waited[0]);
		waited[1] = (state[1] == following && seen[1] && waited[1] < LEASE -> waited[1] + 1 : waited[1]) }
	od
}

/* The invariants. */
active proctype invariants() {
	do
	:: d_step { SERVES(0) && SERVES(1) -> assert(false) } /* two leaders */
	:: d_step { SERVES(0) && own[0] != lock.generation || SERVES(1) && own[1] != lock.generation -> assert(false) } /* an older generation */
	:: d_step { SERVES(0) && (kept & ~data[0]) || SERVES(1) && (kept & ~data[1]) -> assert(false) } /* an acknowledged write is missing */
#ifdef REACHES /* not an invariant, but what the model must be able to do: all writes acknowledged, and the last generation serves */
	:: d_step { kept == (1 << WRITES) - 1 && (SERVES(0) && own[0] == GENERATIONS || SERVES(1) && own[1] == GENERATIONS) -> assert(false) }
#endif
	od
}

/*
 * Machine 0 serves an empty generation 1, and machine 1 is its standby. With -DSECOND, it is generation 2, which began with the snapshot of
 * generation 1. With -DSTOPPED, machine 0 has stopped with an acknowledged write that the store lacks.
 */
init {
	atomic {
		request[0] = idle; request[1] = idle; lock.folder = 1; state[1] = following;
#ifdef STOPPED
		own[0] = 1; localLast[0] = 2; data[0] = 1; made = 1; acknowledged = 1; kept = 1;
		newest[1] = 1; CONTENT(1, 2) = 1;
		lock.generation = 1; lock.position = 1; lock.unshipped = 1; lock.released = 1;
		state[0] = following;
#else
#ifdef SECOND
		newest[1] = 1; lock.fromGeneration = 1; lock.from = 1;
		lock.generation = 2; own[0] = 2;
#else
		lock.generation = 1; own[0] = 1;
#endif
		state[0] = serving; until[0] = HELD; tag[0] = 1; copyRecord(record[0], lock);
#endif
		run machine(0); run machine(1)
	}
}
