import Bluetooth
import BottleProtocol
import TrackerCore

/// What one poll is to do, and within which limits.
package struct PollOptions: Sendable {
    /// What is done with the bottle.
    package enum Job: Hashable, Sendable {
        /// The polite sync of protocol spec P4.
        case poll
        /// Connect, send these commands one by one, show the answers, disconnect.
        case send([HostCommand])
        /// Connect, find out who it is, disconnect: the bottle is asked for nothing else and told nothing, and whose it
        /// is does not matter.
        case meet
        /// Ends the connection that an earlier poll kept, and does nothing else.
        case letGo
        /// Scans for the whole scan time and reports the bottles in range. Connects to none of them.
        case scan
        /// Reads the log and writes nothing but the question for it. The bottle does not become the store's own.
        case look
    }

    /// What the poll is for.
    package var job = Job.poll
    /// The bottle meant: its address or its name. `nil`: the first one found.
    package var bottle: String?
    /// What a person calls it (`bottle.alias`); its drinks are kept under its own identity all the same.
    package var alias: String?
    /// The bottles of this store. Where there are any and none is named by `bottle`, no other one is drained or told
    /// anything.
    package var own: [OwnBottle] = []
    /// Other bottles of this store, which have polls of their own.
    package var others: [OwnBottle] = []
    /// How byte 0 of a record is read.
    package var dialect = BottleProtocol.RecordDialect.calendar
    /// A person named the dialect for this poll: no bottle's own setting changes it.
    package var isReadingNamed = false
    /// `nil`: what the dialect says.
    package var amountWidth: BottleProtocol.AmountWidth?
    /// The zone in which the bottle's clock is read and set.
    package var zone: Zone
    /// The zone of days, where the bottle's follows from it; `nil`: `zone` was named as it is.
    package internal(set) var dayZone: Zone?
    /// Records older than this are kept as suspects; days, 1–360.
    package var maxRecordAgeDays = 180
    /// Identities of bottles that other services on this machine own: such a bottle is left alone.
    package var elsewhere: Set<String> = []
    /// Acknowledge nothing: the bottle keeps its log.
    package var keep = false
    /// The phone app uses the bottle, too: write nothing but the question for the log.
    package internal(set) var isSharing = false
    /// Set the bottle's clock when it is off by more than this; `nil`: only report the drift. Setting it makes the
    /// light blink, so small drift is left alone (protocol spec P3.6).
    package var correctClockBeyond: Duration? = .seconds(120)
    /// The operating system says that a time server keeps the host's clock right, or the user says that it is right.
    package var isClockSynchronised = false
    /// The release date of this program: a clock that shows an earlier time is wrong.
    package var released = Instant(seconds: 0)
    /// A recording answers, of another day: see `answeredByRecording`.
    package private(set) var isRecording = false
    /// Stay connected after a poll without errors.
    package var keepsConnection = false
    /// Goal and reminder, where the owner wants the gateway to manage them.
    package var settings: ManagedSettings?
    /// Show today's total on the bottle's screen.
    package var managesTodayAmount = true
    /// Show reminders by the bottle's light.
    package var managesLight = true
    /// The day's goal, for bottles whose settings want it on their screen (`bottle.showGoal`).
    var dayGoalMl: Int?
    /// Allow power cycling of the adapter, which ends the connections of other programs.
    package var allowPowerCycle = false
    /// How long each step may take, and what bounds memory.
    package var limits = PollLimits()
    /// State of earlier polls.
    package var history = PollHistory()

    /// A poll with every default, of a bottle whose clock shows this zone.
    package init(zone: Zone) {
        self.zone = zone
    }

    /// What a recording answers says nothing of any bottle here and now: its records count, dated by its own clock, and
    /// it is not adopted and gets no alias.
    package mutating func answeredByRecording() {
        isRecording = true
        (isClockSynchronised, correctClockBeyond) = (true, nil)
        (own, others, alias) = ([], [], nil)
        (settings, dayGoalMl, managesLight) = (nil, nil, false)
    }

    /// The bottle keeps its log after this poll.
    var keepsLog: Bool { keep || writesNothing }

    /// Only the question for the log is written.
    var writesNothing: Bool { isSharing || job == .look }

    var resolver: RecordResolver { RecordResolver(zone: zone, maxAgeDays: maxRecordAgeDays) }
}

/// A bottle that belongs to the store.
package struct OwnBottle: Hashable, Sendable {
    /// Addresses, serial numbers and what stood in for them. Empty where it was only ever known by an alias.
    package var identities: Set<String>
    /// What people call it, and called it.
    package var aliases: Set<String>
    /// What of that they call it now; `nil`: nothing.
    package var alias: String?
    /// The name that it shows on the air.
    package var advertisedName: String?
    /// How it is read, where it has settings of its own; `nil`: as the store's settings say.
    package var settings: BottleSettings?
    /// When it brought the first of its records here, milliseconds UTC; `nil`: it brought none yet.
    package var since: Int64?

    package init(
        identities: Set<String>, aliases: Set<String> = [], alias: String? = nil, advertisedName: String? = nil,
        settings: BottleSettings? = nil, since: Int64? = nil
    ) {
        self.alias = alias
        self.settings = settings
        self.since = since
        self.identities = identities
        self.aliases = aliases
        self.advertisedName = advertisedName
    }

    /// Who is meant by a word that names a bottle: an alias means the bottle's address.
    package static func meant(_ text: String?, among own: [OwnBottle]) -> String? {
        guard let text, let bottle = own.first(where: { $0.aliases.contains(text) }) else { return text }
        return bottle.identities.sorted().first { BluetoothAddress($0) != nil } ?? bottle.identities.sorted().first
            ?? text
    }

    /// Whether a bottle with this identity and alias is this bottle.
    func answers(to identity: String, alias: String?) -> Bool {
        identities.contains(identity) || identities.isEmpty && alias.map(aliases.contains) == true
    }
}

/// Settings that the gateway writes to the bottle when they differ from what it says.
package struct ManagedSettings: Hashable, Sendable {
    /// Daily goal, ml.
    package var goalMl: UInt16
    /// The bottle's own reminder; `nil`: not changed.
    package var reminder: ReminderSetting?

    package init(goalMl: UInt16, reminder: ReminderSetting? = nil) {
        self.goalMl = goalMl
        self.reminder = reminder
    }
}

/// The time limits of a poll, each with its source; and what bounds its memory.
package struct PollLimits: Hashable, Sendable {
    /// Original requirement: scan time-out.
    package var scan = Duration.seconds(10)
    /// Original requirement: connect time-out.
    package var connect = Duration.seconds(5)
    /// Discovery of all services. Over radio about 1 s; 30 s is ATT's own limit for one transaction, and our whole
    /// budget.
    package var discover = Duration.seconds(8)
    /// One read, write or subscription.
    package var request = Duration.seconds(3)
    /// Original requirement: from the draft command 01 to the first read of the response.
    package var beforeRead = Duration.milliseconds(500)
    /// Until a command counts as ignored and is sent again: bottles ignore what comes too soon after the subscription,
    /// and owners space commands 0.5–1 s apart.
    package var answer = Duration.milliseconds(1000)
    /// For a person to press the bottle's button, where a command asks for it.
    package var button = Duration.seconds(30)
    /// How often a command is sent before its answer is given up.
    package var sendings = 3
    /// Silence in the middle of a log transfer after which it counts as broken off.
    package var silence = Duration.milliseconds(3000)
    /// Silence after a whole log frame that may be followed by another.
    package var linger = Duration.milliseconds(250)
    /// The same without a radio in between, where frames follow within a millisecond.
    package var lingerWithoutRadio = Duration.milliseconds(15)
    /// The whole poll without the time in which the log arrives, then "Bottle did not answer" (tracker spec A8).
    package var poll = Duration.seconds(30)
    /// The most time in one poll in which the log arrives: four readings of a log that takes 20 s.
    package var arrival = Duration.seconds(90)
    /// After that, to store and disconnect.
    package var closing = Duration.seconds(3)
    /// A real bottle holds some 500 records; a poll takes this many and leaves politely.
    package var records = 4096
    /// Notifications that are no log: reports, answers, noise.
    package var notifications = 20_000
    /// Pieces of unreadable bytes kept in one poll; the rest is counted.
    package var quarantined = 64
    /// Dumps of the log asked for on one connection.
    package var dumps = 16
    /// Of those, dumps that broke off or were damaged.
    package var flawedDumps = 6
    /// Connections in one poll.
    package var sessions = 5

    /// Every limit at its default.
    package init() {}
}

/// State that the service passes from poll to poll; empty for a single poll.
package struct PollHistory: Hashable, Sendable {
    /// Polls in a row in which the scan found nothing.
    package var failedScans = 0
    /// The peer whose last session ended badly: the system's memory of it may be stale.
    package var suspectPeer: String?
    /// A goal that the bottle did not accept.
    var unheededGoalMl: Int?

    /// With nothing remembered.
    package init() {}
}
