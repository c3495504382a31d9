import Bluetooth
package import BottleProtocol
package import TrackerCore

/// The task and the limits of one poll.
package struct PollOptions: Sendable {
    /// The task of a poll.
    package enum Job: Hashable, Sendable {
        /// Read, store and acknowledge the log, then write the settings (protocol spec P4).
        case poll
        /// Connect, identify the bottle, send these commands one at a time, report the responses and disconnect.
        case send([HostCommand])
        /// Only end the connection that an earlier poll kept.
        case disconnect
        /// Scan for the whole scan time and report the bottles in range, without a connection.
        case scan
        /// Read the log and write only the request for it. The store does not adopt the bottle.
        case inspect
    }

    package var job = Job.poll
    /// The bottle's address or name; `nil` selects the first bottle found.
    package var bottle: String?
    /// The user's name for the bottle (`bottle.alias`); its records are stored under its identity.
    package var alias: String?
    /// The bottles of this store. If it is not empty and `bottle` is `nil`, the poll uses only these bottles.
    package var ownBottles: [AdoptedBottle] = []
    /// The store's other bottles, which this poll must not read.
    package var otherBottles: [AdoptedBottle] = []
    /// The meaning of byte 0 of a record: the year (`calendar`) or the constant 1A (`strict`).
    package var dialect = RecordDialect.calendar
    /// Whether the user has set the dialect for this poll. It then overrides the bottle's own setting.
    package var isDialectExplicit = false
    /// The number of bytes of a record's amount; `nil` selects that of the dialect.
    package var amountWidth: AmountWidth?
    /// The zone of the bottle's clock.
    package var zone: Zone
    /// The zone of the tracker's days, if the bottle's clock follows it; `nil` if `zone` was set directly.
    package internal(set) var dayZone: Zone?
    /// The age in days (1–360) above which records are quarantined.
    package var maxRecordAgeDays = 180
    /// The identities of bottles that belong to other services on this machine. The poll skips them.
    package var bottlesOfOtherServices: Set<String> = []
    /// Whether to keep the log in the bottle, without an acknowledgement.
    package var isAcknowledgementDisabled = false
    /// Whether the phone app also uses the bottle. If so, only the request for the log is written.
    package internal(set) var isSharing = false
    /// The drift above which the poll sets the bottle's clock; `nil` never sets it. Setting the clock makes the light
    /// blink, so small drift is ignored (protocol spec P3.6).
    package var correctClockBeyond: Duration? = .seconds(120)
    /// Whether a time server synchronises the host's clock, or the user has confirmed the time.
    package var isClockSynchronised = false
    /// The release date of this program. A host's clock before this date is wrong.
    package var releaseDate = Instant(seconds: 0)
    /// Whether a capture of another day responds instead of a bottle; see `markAsReplay`.
    package private(set) var isReplay = false
    package var keepsConnection = false
    /// The daily goal in ml, which is written to the bottle if it has another one.
    package var goalMl: UInt16?
    package var managesTodayAmount = true
    /// Whether to show reminders with the bottle's light.
    package var managesLight = true
    /// The day's goal, for bottles that show it on their screen (`bottle.showGoal`).
    var dayGoalMl: Int?
    /// Whether the adapter may be power-cycled, which ends the connections of other programs.
    package var allowPowerCycle = false
    package var limits = PollLimits()
    package var history = PollHistory()

    package init(zone: Zone) {
        self.zone = zone
    }

    /// Declares that a capture responds instead of a bottle. The poll then counts the records by their own dates, but
    /// neither adopts the bottle nor sets its alias or its state.
    package mutating func markAsReplay() {
        isReplay = true
        (isClockSynchronised, correctClockBeyond) = (true, nil)
        (ownBottles, otherBottles, alias) = ([], [], nil)
        (goalMl, dayGoalMl, managesLight) = (nil, nil, false)
    }

    var keepsLog: Bool { isAcknowledgementDisabled || writesOnlyLogRequest }

    var writesOnlyLogRequest: Bool { isSharing || job == .inspect }

    var resolver: RecordResolver { RecordResolver(zone: zone, maxAgeDays: maxRecordAgeDays) }
}

/// A bottle that belongs to the store.
package struct AdoptedBottle: Hashable, Sendable {
    /// The addresses, serial numbers and substitute identities of the bottle; empty if only an alias is known.
    package var identities: Set<String>
    /// The current and earlier aliases.
    package var aliases: Set<String>
    package var alias: String?
    package var advertisedName: String?
    /// The bottle's own settings. If `nil`, the store's settings apply.
    package var settings: BottleSettings?

    package init(
        identities: Set<String>, aliases: Set<String> = [], alias: String? = nil, advertisedName: String? = nil,
        settings: BottleSettings? = nil
    ) {
        self.alias = alias
        self.settings = settings
        self.identities = identities
        self.aliases = aliases
        self.advertisedName = advertisedName
    }

    /// Replaces an alias of a bottle by its address or name. Any other text is returned unchanged.
    package static func resolvingAlias(_ text: String?, among own: [AdoptedBottle]) -> String? {
        guard let text, let bottle = own.first(where: { $0.aliases.contains(text) }) else { return text }
        return bottle.identities.sorted().first { BluetoothAddress($0) != nil } ?? bottle.identities.sorted().first
            ?? text
    }

    func matches(identity: String, alias: String?) -> Bool {
        identities.contains(identity) || identities.isEmpty && alias.map(aliases.contains) == true
    }
}

/// The values that a poll shows on the bottle after it has read the log.
package struct DisplayValues: Sendable {
    /// Today's total in ml; `nil` if there is none.
    package var todayTotal: @Sendable () throws -> Int? = { nil }
    /// The light that this bottle should show; `nil` if it shows it already.
    package var light: @Sendable (_ bottle: String) throws -> BottleLight? = { _ in nil }

    package init() {}
}

/// The time and memory limits of a poll.
package struct PollLimits: Hashable, Sendable {
    /// The scan time limit (original requirement).
    package var scan = Duration.seconds(10)
    package var connect = Duration.seconds(5)
    /// The time limit for the discovery of all services. By radio, discovery takes about 1 s.
    package var discover = Duration.seconds(8)
    /// The time limit for one read, write or subscription.
    package var request = Duration.seconds(3)
    /// The pause between the log request 01 of the draft profile and the first read (original requirement).
    package var beforeRead = Duration.milliseconds(500)
    /// The time after which a command without a response is repeated. Bottles ignore commands within 0.5–1 s after the
    /// subscription.
    package var response = Duration.milliseconds(1000)
    /// The time without log data after which the link is quiet. It is longer than the interval of repeated requests.
    var quietPeriod: Duration { response * 2 }
    /// The time within which the user must press the bottle's button, if a command requires it.
    package var button = Duration.seconds(30)
    /// The number of times that a command is sent before the poll gives up.
    package var transmissions = 3
    /// The silence in a log transfer after which the transfer counts as interrupted.
    package var silence = Duration.milliseconds(3000)
    /// The time to wait for another frame after a complete log frame on a link with a radio.
    package var nextFrame = Duration.milliseconds(250)
    /// The time to wait for another log frame on links without a radio, where frames follow within 1 ms.
    package var nextFrameWithoutRadio = Duration.milliseconds(15)
    /// The time limit of a poll, without the time in which logs arrive (tracker spec A8).
    package var poll = Duration.seconds(30)
    /// The maximum time for the arrival of logs in one poll: four readings of a log that takes 20 s.
    package var arrival = Duration.seconds(90)
    /// The time that a stopped poll has to store data and disconnect.
    package var closing = Duration.seconds(3)
    /// The maximum number of records, after which the poll disconnects. A real bottle stores about 500.
    package var records = 4096
    /// The maximum number of notifications that are not part of a log: reports, responses and invalid data.
    package var notifications = 20_000
    /// The maximum number of undecodable byte sequences kept in one poll. Others are only counted.
    package var undecodable = 64
    /// The maximum number of log requests on one connection.
    package var logRequests = 16
    /// The maximum number of interrupted or damaged responses to log requests.
    package var anomalies = 6
    /// The maximum number of connections in one poll.
    package var sessions = 5
}

/// The state that the service passes from one poll to the next; empty for a single poll.
package struct PollHistory: Hashable, Sendable {
    /// Consecutive polls in which the scan found nothing.
    package var failedScans = 0
    /// The peer whose last session failed. The system's cached data about it might be outdated.
    package var suspectPeer: String?
    var ignoredGoalMl: Int?
}
