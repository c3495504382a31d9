import TrackerCore
import TrackerService

/// A device of Home Assistant with its entities: one retained message (its documentation, "MQTT device discovery").
struct HomeDevice: Encodable {
    /// `homeassistant/device/ID/config`.
    let id: String
    let name: String
    let model: String
    let version: String
    /// How `default_entity_id` begins behind its domain.
    let slug: String
    let topics: Topics
    let stateTopic: String
    let components: [HomeComponent]

    /// Kinds of entities that read the device's topic. The others say what was pressed or chosen last: the bottle does
    /// not tell.
    private static let stateful: Set = ["sensor", "binary_sensor", "number", "switch"]

    func topic(_ discovery: String) -> String { "\(discovery)/device/\(id)/config" }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private struct Maker: Encodable {
        let identifiers: [String]
        let name, model: String
        let manufacturer = "WaterH"
        let sw_version: String
    }

    private struct Origin: Encodable {
        let name = "waterh-bench"
        let sw_version: String
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(
            Maker(identifiers: [id], name: name, model: model, sw_version: version), forKey: Key("device"))
        try container.encode(Origin(sw_version: version), forKey: Key("origin"))
        // A service that is there speaks for bottles that sleep; one that is gone speaks for nobody.
        try container.encode(topics.availability, forKey: Key("availability_topic"))
        try container.encode(1, forKey: Key("qos"))
        var all = container.nestedContainer(keyedBy: Key.self, forKey: Key("components"))
        for component in components {
            var component = component
            if component.isOffered {
                if Self.stateful.contains(component.platform), component.fields["state_topic"] == nil {
                    component.fields["state_topic"] = .text(stateTopic)
                }
                component.fields["unique_id"] = .text("\(id)_\(component.key)")
                component.fields["default_entity_id"] = .text("\(component.platform).\(slug)_\(component.key)")
            }
            try all.encode(component, forKey: Key(component.key))
        }
    }
}

extension HomeDevice {
    /// What speaks of this moment is not believed for longer than this without being said again, seconds: a service
    /// that hangs is not one that is there.
    static let expirySeconds = 900

    /// A person's day.
    static func day(id: String, version: String, topics: Topics, commands: Bool, waterline: Bool) -> HomeDevice {
        let slug = PlainName.of(topics.prefix)
        let expires = HomeComponent.Value.whole(expirySeconds)
        func instant(_ key: String) -> HomeComponent.Value {
            .text(
                """
                {% set at = (value_json | default({})).get('\(key)') %}{{ at | as_datetime if at is number else \
                none }}
                """
            )
        }
        let components: [HomeComponent] = [
            HomeComponent(
                "sensor", "today", "Today",
                [
                    "device_class": .text("volume"), "unit_of_measurement": .text("mL"), "state_class": .text("total"),
                    "value_template": value("dailyTotalMl"),
                    "last_reset_value_template": value("dayStart", "''"),
                ]),
            HomeComponent(
                "sensor", "lifetime", "Lifetime",
                [
                    "device_class": .text("water"), "unit_of_measurement": .text("L"),
                    "state_class": .text("total_increasing"),
                    "value_template": value("lifetimeLitres"), "suggested_display_precision": .whole(1),
                ]),
            HomeComponent(
                "sensor", "progress", "Progress",
                [
                    "unit_of_measurement": .text("%"), "state_class": .text("measurement"),
                    "value_template": value("percent"), "icon": .text("mdi:cup-water"),
                ]),
            HomeComponent(
                "sensor", "left", "Left today",
                [
                    "device_class": .text("volume_storage"), "unit_of_measurement": .text("mL"),
                    "state_class": .text("measurement"),
                    "value_template": .text(
                        """
                        {% set day = value_json | default({}) %}{{ [day.get('dailyGoalMl', 0) - \
                        day.get('dailyTotalMl', 0), 0] | max }}
                        """
                    ), "icon": .text("mdi:cup-outline"),
                ]),
            HomeComponent(
                "sensor", "behind", "Behind",
                [
                    "device_class": .text("volume_storage"), "unit_of_measurement": .text("mL"),
                    "state_class": .text("measurement"), "value_template": value("deficitMl"),
                    "icon": .text("mdi:timer-sand"), "expire_after": expires,
                ]),
            HomeComponent(
                "sensor", "urgency", "Urgency",
                [
                    "device_class": .text("enum"), "options": .texts(["on_track", "behind", "far_behind"]),
                    "value_template": .text(
                        """
                        {{ ['on_track', 'behind', 'far_behind'][(value_json | default({})).get('displayUrgency', \
                        0)] }}
                        """
                    ), "expire_after": expires,
                ]),
            HomeComponent(
                "sensor", "next_drink", "Next drink",
                ["device_class": .text("timestamp"), "value_template": instant("dueTime"), "expire_after": expires]),
            HomeComponent(
                "sensor", "last_drink", "Last drink",
                ["device_class": .text("timestamp"), "value_template": instant("lastDrinkTime")]),
            HomeComponent(
                "sensor", "drinks", "Drinks today",
                [
                    "state_class": .text("total"), "value_template": value("drinkCount"),
                    "last_reset_value_template": value("dayStart", "''"),
                    "icon": .text("mdi:counter"),
                ]),
            HomeComponent(
                "sensor", "goal", "Goal", isOffered: !commands,
                [
                    "device_class": .text("volume_storage"), "unit_of_measurement": .text("mL"),
                    "value_template": value("dailyGoalMl"), "icon": .text("mdi:flag-checkered"),
                ]),
            HomeComponent(
                "number", "goal_ml", "Goal", isOffered: commands,
                [
                    "device_class": .text("volume_storage"), "unit_of_measurement": .text("mL"),
                    "min": .whole(Settings.goals.lowerBound), "max": .whole(Settings.goals.upperBound),
                    "step": .whole(50), "mode": .text("box"),
                    "value_template": value("dailyGoalMl"), "command_topic": .text(topics.command("goal")),
                    "icon": .text("mdi:flag-checkered"),
                    "entity_category": .text("config"),
                ]),
            HomeComponent(
                "switch", "reminders", "Reminders", isOffered: commands,
                [
                    "value_template": isOn("remindersEnabled"), "command_topic": .text(topics.command("reminders")),
                    "payload_on": .text("ON"), "payload_off": .text("OFF"), "icon": .text("mdi:bell"),
                    "entity_category": .text("config"),
                ]),
            HomeComponent(
                "switch", "bottle_light", "Light of reminders", isOffered: commands,
                [
                    "value_template": isOn("bottleLight"), "command_topic": .text(topics.command("settings")),
                    "payload_on": .text(#"{"bottle.light": "true"}"#),
                    "payload_off": .text(#"{"bottle.light": "false"}"#), "state_on": .text("ON"),
                    "state_off": .text("OFF"),
                    "icon": .text("mdi:led-on"), "entity_category": .text("config"),
                ]),
            HomeComponent(
                "button", "log_cup", "Log a cup", isOffered: commands,
                [
                    "command_topic": .text(topics.command("log")), "command_template": press(#", "ml": "cup""#),
                    "icon": .text("mdi:cup"),
                ]),
            HomeComponent(
                "button", "undo", "Undo", isOffered: commands,
                [
                    "command_topic": .text(topics.command("undo")), "command_template": press(""),
                    "icon": .text("mdi:undo"),
                ]),
            HomeComponent(
                "event", "sip", "Sip",
                [
                    "state_topic": .text(topics.sip), "event_types": .texts(SipPayload.Event.allCases.map(\.rawValue)),
                    "icon": .text("mdi:water"),
                ]),
            HomeComponent(
                "event", "reminder", "Reminder",
                [
                    "state_topic": .text(topics.notify), "event_types": .texts(NotifyPayload.events),
                    "icon": .text("mdi:bell-ring"),
                ]),
            HomeComponent(
                "sensor", "bottles_in_range", "Bottles in range",
                [
                    "entity_category": .text("diagnostic"), "icon": .text("mdi:bottle-soda"),
                    "value_template": .text(
                        "{{ (((value_json | default({})).get('service') or {}).get('bottlesInRange') or []) | length }}"
                    ),
                    "json_attributes_topic": .text(topics.state),
                    "json_attributes_template": .text(
                        """
                        {{ {'bottles': ((value_json | default({})).get('service') or {}).get('bottlesInRange') or \
                        []} | tojson }}
                        """
                    ),
                ]),
            HomeComponent(
                "binary_sensor", "session", "Session", isOffered: waterline,
                [
                    "state_topic": .text(topics.waterline), "value_template": isOn("isActive"),
                    "icon": .text("mdi:glass-cocktail"),
                ]),
            HomeComponent(
                "button", "log_water", "Log water", isOffered: waterline && commands,
                [
                    "command_topic": .text(topics.command("water")), "command_template": press(""),
                    "icon": .text("mdi:water-plus"),
                ]),
            HomeComponent(
                "button", "log_drink", "Log drink", isOffered: waterline && commands,
                [
                    "command_topic": .text(topics.command("drink")), "command_template": press(""),
                    "icon": .text("mdi:glass-mug-variant"),
                ]),
        ]
        return HomeDevice(
            id: "waterh_\(id)", name: name(topics), model: "Day", version: version, slug: slug, topics: topics,
            stateTopic: topics.state, components: components)
    }

    /// Each press is an id of its own, so that a press that arrives twice counts once; and says when it was, should we
    /// be away.
    private static func press(_ fields: String) -> HomeComponent.Value {
        .text(#"{"transaction": "{{ now().timestamp() }}", "pressed": {{ now().timestamp() }}\#(fields)}"#)
    }

    /// A bottle.
    /// - Parameter isOnly: commands go to the one bottle that there is; of several none is meant.
    static func bottle(
        _ bottle: BottleReport, id: String, version: String, topics: Topics, commands: Bool, isOnly: Bool
    ) -> HomeDevice {
        let own = BottlePayload.id(of: bottle)
        let (offered, name) = (commands && isOnly, bottle.advertisedName ?? bottle.name)
        let components: [HomeComponent] = [
            HomeComponent(
                "sensor", "battery", "Battery",
                [
                    "device_class": .text("battery"), "unit_of_measurement": .text("%"),
                    "state_class": .text("measurement"), "entity_category": .text("diagnostic"),
                    "value_template": value("batteryPercent"),
                ]),
            HomeComponent(
                "sensor", "last_poll", "Last poll",
                [
                    "device_class": .text("timestamp"), "entity_category": .text("diagnostic"),
                    "value_template": value("lastPoll"),
                ]),
            HomeComponent(
                "sensor", "link", "Link",
                [
                    "device_class": .text("enum"), "options": .texts(BottlePayload.links),
                    "entity_category": .text("diagnostic"), "expire_after": .whole(expirySeconds),
                    "value_template": value("link"),
                ]),
            HomeComponent(
                "sensor", "trouble", "Trouble",
                [
                    "entity_category": .text("diagnostic"), "value_template": value("trouble"),
                    "icon": .text("mdi:alert-circle-outline"),
                ]),
            HomeComponent(
                "sensor", "clock_drift", "Clock drift",
                [
                    "device_class": .text("duration"), "unit_of_measurement": .text("s"),
                    "state_class": .text("measurement"), "entity_category": .text("diagnostic"),
                    "value_template": value("clockDriftSeconds"),
                ]),
            HomeComponent(
                "button", "check", "Check now", isOffered: commands,
                [
                    "command_topic": .text(topics.command("check")), "command_template": press(""),
                    "icon": .text("mdi:bluetooth-connect"),
                ]),
            HomeComponent(
                "button", "flash", "Flash", isOffered: offered,
                [
                    "command_topic": .text(topics.command("flash")), "command_template": press(""),
                    "icon": .text("mdi:flash"),
                ]),
            HomeComponent(
                "select", "light", "Light", isOffered: offered,
                [
                    "command_topic": .text(topics.command("light")),
                    "command_template": press(#", "mode": "{{ value }}""#), "options": .texts(CommandRequest.lights),
                    "optimistic": .flag(true), "icon": .text("mdi:led-on"),
                    "entity_category": .text("config"),
                ]),
            HomeComponent(
                "select", "bottle_reminder", "Reminder of its own", isOffered: offered,
                [
                    "command_topic": .text(topics.command("bottle-reminder")),
                    "command_template": press(#", "mode": "{{ value }}""#),
                    "options": .texts(CommandRequest.bottleReminders), "optimistic": .flag(true),
                    "icon": .text("mdi:bell-cog"), "entity_category": .text("config"),
                ]),
        ]
        return HomeDevice(
            id: "waterh_\(id)_\(own)", name: name, model: bottle.model ?? "Bottle", version: version,
            slug: PlainName.of(name), topics: topics,
            stateTopic: topics.bottle(own), components: components)
    }

    /// A template that takes a field of the payload. What is not said, and a topic that is taken back (an empty
    /// message), is nothing known: Home Assistant would warn of an undefined variable.
    private static func value(_ field: String, _ otherwise: String = "none") -> HomeComponent.Value {
        .text("{{ (value_json | default({})).get('\(field)', \(otherwise)) }}")
    }

    private static func isOn(_ field: String) -> HomeComponent.Value {
        .text("{{ 'ON' if (value_json | default({})).get('\(field)') else 'OFF' }}")
    }

    /// `Hydration`, as the prefix is called.
    private static func name(_ topics: Topics) -> String {
        let words = topics.prefix.split(separator: "/").map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return words.joined(separator: " ")
    }
}
