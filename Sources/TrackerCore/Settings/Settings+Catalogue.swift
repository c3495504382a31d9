import BottleProtocol

extension Settings {
    /// All settings, in the order of the specification.
    package static let catalogue: [SettingEntry] =
        [
            .integer("day.boundaryHour", \.boundaryHour, 0...6, "o'clock"),
            .zone("day.zone", \.dayZone),
            .integer("hydration.goalMl", \.goalMl, Settings.goals, "ml"),
            .integer("hydration.glassMl", \.glassMl, 50...1000, "ml"),
            .oneOf("hydration.cupMl", \.cupMl, [100, 200, 250, 330, 500], "ml"),
            quickAdd,
            .flag("hydration.countSessionWater", \.countSessionWater),
            .optional(
                "hydration.units", \.hydrationUnits, rule: "It must be ml, l or oz, or unset.",
                value: { .text($0.rawValue) }, parse: { AmountUnits(rawValue: $0.lowercased()) }),
            .time("schedule.wake", \.wake, 4...11),
            .time("schedule.sleep", \.sleep, 18...23),
            .optionalTime("schedule.interval.wake", \.intervalWake, 4...11),
            .optionalTime("schedule.interval.sleep", \.intervalSleep, 18...23),
            .optionalHour("schedule.adaptive.start", \.adaptiveStart, 4...11),
            .optionalHour("schedule.adaptive.end", \.adaptiveEnd, 18...23),
            .flag("reminders.enabled", \.remindersEnabled),
            .choice("reminders.engine", \.engine),
            .flag("reminders.dailyLimit", \.dailyLimit),
            .integer("reminders.maxPerDay", \.maxPerDay, 1...24),
            .flag("reminders.backOnTrack", \.backOnTrack),
            .integer("reminders.minDeficitMl", \.minDeficitMl, 0...500, "ml"),
            .choice("pace.mode", \.paceMode),
            .integer("pace.thresholdPercent", \.thresholdPercent, 1...100, "percent"),
            .flag("pace.testMode", \.testMode),
            .decimal("adaptive.intervalHours", \.adaptiveIntervalHours, 0.5...6, step: 0.5, "hours"),
            .flag("notify.desktop", \.desktopNotifications),
            .flag("notify.sound", \.sound),
            .flag("notify.timeSensitiveCritical", \.timeSensitiveCritical),
            .optionalText(
                "bottle.alias", \.bottle.alias, rule: "It must be a name of 1 to 64 printable characters, or unset.",
                accepts: isName),
            .zone("bottle.timeZone", \.bottle.zone),
            .choice("bottle.recordDialect", \.bottle.recordDialect),
            .optional(
                "bottle.amountWidth", \.bottle.amountWidth,
                rule: "It must be u8 or u16be, or unset to follow the dialect.",
                value: { .text($0.rawValue) }, parse: { AmountWidth(rawValue: $0) }),
            .decimal("bottle.scanTimeoutS", \.bottle.scanTimeoutSeconds, 1...60, "seconds"),
            .decimal("bottle.connectTimeoutS", \.bottle.connectTimeoutSeconds, 1...60, "seconds"),
            .decimal("bottle.readDelayS", \.bottle.readDelaySeconds, 0...5, "seconds"),
            .choice("bottle.hold", \.bottle.hold),
            .flag("bottle.pollWhenIdle", \.bottle.pollWhenIdle),
            .integer("bottle.maxRecordAgeDays", \.bottle.maxRecordAgeDays, 1...360, "days"),
            .choice("bottle.mode", \.bottle.mode),
            .flag("bottle.trustClock", \.bottle.trustsClock),
            .flag("bottle.light", \.bottle.light),
            .flag("bottle.showGoal", \.bottle.showsGoal),
            .integer("waterline.waterEveryNDrinks", \.waterEveryNDrinks, 1...10),
            .flag("waterline.timeReminders", \.timeReminders),
            .oneOf("waterline.intervalMinutes", \.intervalMinutes, [10, 15, 20, 30, 45, 60], "minutes"),
            .integer("waterline.warningThreshold", \.warningThreshold, 1...10),
            .integer("waterline.defaultWaterOz", \.defaultWaterOz, 1...32, "oz"),
            .choice("waterline.units", \.units),
            .flag("waterline.discreet", \.discreet),
            .flag("waterline.shared", \.isWaterlineShared),
            .optionalText(
                "waterline.defaultPreset", \.defaultPreset, rule: "It must be the id of one of your presets, or unset.",
                accepts: isName),
            .choice("waterline.bottleWater", \.bottleWater),
            .choice("week.firstDay", \.weekFirstDay),
            .flag("health.enabled", \.healthEnabled),
            .optionalText(
                "health.inbox", \.healthInbox,
                rule: "It must be the absolute path of a directory, or unset.", accepts: isFile),
            .optionalText(
                "health.excludedSources", \.healthExcludedSources,
                rule: "It must be names of Apple Health sources, separated by commas, or unset.",
                accepts: { PrintableText.isName($0, limit: 1000) }),
            .optionalText(
                "sync.url", \.service.syncURL, rule: webRule, accepts: { isURL($0, ["http", "https"]) }),
            .optionalText("sync.token", \.service.syncToken, rule: tokenRule, accepts: isToken).secret,
            .optionalText(
                "sync.tokenFile", \.service.syncTokenFile, rule: fileRule, accepts: isFile),
            .text(
                "http.listen", \.service.httpListen, rule: "It must be an address and a port, such as 127.0.0.1:8077.",
                accepts: isEndpoint),
            .optionalText(
                "http.publicUrl", \.service.publicURL, rule: webRule, accepts: { isURL($0, ["http", "https"]) }),
            .optionalText(
                "mqtt.url", \.service.mqttURL,
                rule:
                    """
                    It must be an address that begins with mqtt:// or mqtts://, without user and password \
                    (mqtt.user and mqtt.passwordFile hold them), or unset.
                    """,
                accepts: { isURL($0, ["mqtt", "mqtts"]) && !$0.contains("@") }),
            .text("mqtt.prefix", \.service.mqttPrefix, rule: topicRule, accepts: isTopic),
            .flag("mqtt.commands", \.service.mqttCommands),
            .optionalText(
                "mqtt.user", \.service.mqttUser, rule: "It must be a name of 1 to 64 printable characters, or unset.",
                accepts: isName),
            .optionalText(
                "mqtt.password", \.service.mqttPassword,
                rule: "It must be 1 to 4096 printable characters, or unset.", accepts: isPassword
            ).secret,
            .optionalText("mqtt.passwordFile", \.service.mqttPasswordFile, rule: fileRule, accepts: isFile),
            .optionalText("mqtt.caFile", \.service.mqttCAFile, rule: fileRule, accepts: isFile),
            .optionalText("mqtt.certificateFile", \.service.mqttCertificateFile, rule: fileRule, accepts: isFile),
            .optionalText("mqtt.keyFile", \.service.mqttKeyFile, rule: fileRule, accepts: isFile),
            .flag("mqtt.discovery", \.service.mqttDiscovery),
            .text("mqtt.discoveryPrefix", \.service.mqttDiscoveryPrefix, rule: topicRule, accepts: isTopic),
            .optionalText(
                "ntfy.url", \.service.ntfy.url,
                rule:
                    """
                    It must be the address of a topic, such as https://ntfy.example/my-water: http:// or https://, \
                    without user and password, and after the last / a topic of 1 to 64 letters, digits, - and _; or \
                    unset.
                    """, accepts: { NtfyTopic($0) != nil }),
            .optionalText("ntfy.token", \.service.ntfy.token, rule: tokenRule, accepts: isToken).secret,
            .optionalText("ntfy.tokenFile", \.service.ntfy.tokenFile, rule: fileRule, accepts: isFile),
            .optionalText("ntfy.caFile", \.service.ntfy.caFile, rule: fileRule, accepts: isFile),
            .optionalText(
                "webhook.url", \.service.webhook.url, rule: webRule, accepts: { isURL($0, ["http", "https"]) }),
            .optionalText("webhook.secret", \.service.webhook.token, rule: tokenRule, accepts: isToken).secret,
            .optionalText("webhook.secretFile", \.service.webhook.tokenFile, rule: fileRule, accepts: isFile),
            .optionalText("webhook.caFile", \.service.webhook.caFile, rule: fileRule, accepts: isFile),
        ]

    private static let tokenRule = "It must be 1 to 4096 visible ASCII characters without blanks, or unset."
    private static let webRule =
        "It must be an address that begins with http:// or https://, without user and password, or unset."

    private static let quickAdd = SettingEntry(
        name: "hydration.quickAddMl",
        rule: "It must be 1 to 12 amounts from 1 to 2000 ml, with commas between, and a point in 8.5oz.",
        read: { .list($0.quickAddMl.map { .number(Double($0)) }) }
    ) { settings, text in
        let pieces = text.split(separator: ",", omittingEmptySubsequences: false)
        // A comma between digits can be a decimal comma (8,5 oz). It is ambiguous if only the second part has a unit.
        let isAmbiguous = zip(pieces, pieces.dropFirst()).contains { before, after in
            before.last?.isNumber == true && after.first?.isNumber == true && after.last?.isNumber == false
        }
        let parts = pieces.map { Amounts.parse(String($0.trimmingSpaces())) }
        let amounts = isAmbiguous ? [] : parts.compactMap(\.self)
        guard (1...12).contains(parts.count), amounts.count == parts.count, amounts.allSatisfy((1...2000).contains)
        else { return false }
        settings.quickAddMl = amounts
        return true
    }

    private static let fileRule = "It must be the absolute path of a file, or unset."

    @Sendable static func isFile(_ text: String) -> Bool {
        text.hasPrefix("/") && text.utf8.count <= 4096
            && text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    }

    private static let topicRule =
        "It must be a topic of 1 to 64 printable characters without +, # and without / at its ends."

    @Sendable static func isTopic(_ text: String) -> Bool {
        isName(text) && !text.contains("+") && !text.contains("#") && !text.hasPrefix("/") && !text.hasSuffix("/")
            && !text.hasPrefix("$")
    }

    @Sendable static func isName(_ text: String) -> Bool { PrintableText.isName(text, limit: 64) }

    /// Whether the text is valid after `Authorization: Bearer`.
    package static func isToken(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 32 && $0 < 127 }
    }

    /// Whether the text can be the password of a broker or a database, with blanks and non-ASCII characters.
    @Sendable package static func isPassword(_ text: String) -> Bool {
        text.utf8.count <= 4096 && PrintableText.isName(text, limit: 4096)
    }

    @Sendable static func isURL(_ text: String, _ schemes: [String]) -> Bool {
        guard let colon = text.firstRange(of: "://"), schemes.contains(text[..<colon.lowerBound].lowercased()) else {
            return false
        }
        let host = text[colon.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        // User and password have separate secret settings.
        return isHost(host) && text.unicodeScalars.allSatisfy { $0.value > 32 && $0.value != 127 }
    }

    /// A host name or address (IPv6 in brackets) with an optional port.
    private static func isHost(_ text: Substring) -> Bool {
        guard !text.contains("@") else { return false }
        let end =
            text.hasPrefix("[")
            ? text.firstIndex(of: "]").map(text.index(after:)) ?? text.startIndex
            : text.firstIndex(of: ":") ?? text.endIndex
        let port = text[end...]
        guard end > text.startIndex, port.isEmpty || port.hasPrefix(":") else { return false }
        // An empty port is the default port (RFC 3986).
        return port.count <= 1
            || (port.dropFirst().utf8.allSatisfy { (48...57).contains($0) }
                && (Int(port.dropFirst()).map((1...65535).contains) ?? false))
    }

    @Sendable static func isEndpoint(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return false }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return !host.isEmpty && (isBracketed || !host.contains(":"))
            && host.unicodeScalars.allSatisfy { $0.value > 32 && $0.value < 127 }
    }
}
